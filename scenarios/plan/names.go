package plan

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/scenarios/format"
)

// PodKeys returns the pods that a name matches, as namespace/name in the order of the scenario. The
// name of a pod matches the pod, the name of a workload matches all its pods, and an empty name
// matches all pods of the scenario. NAMESPACE/NAME matches only pods in this namespace.
//
// A name with a range, such as web-{0..2}, matches what its names match.
//
// The pods of a Deployment with a control plane are not known before the run: of those, PodKeys
// returns the ones among seen.
func (s *Scenario) PodKeys(name string, seen []string) []string {
	if format.IsRange(name) {
		return s.keysOf(format.NamesOf(name), seen)
	}
	var keys []string
	for _, w := range s.Matching(name) {
		if w.Controlled != nil {
			keys = append(keys, w.owned(name, seen)...)
			continue
		}
		first, count := w.Named(name)
		for replica := first; replica < first+count; replica++ {
			keys = append(keys, w.Key(replica))
		}
	}
	return keys
}

// keysOf returns the pods that any of the names match, each once.
func (s *Scenario) keysOf(names, seen []string) []string {
	var keys []string
	has := map[string]bool{}
	for _, name := range names {
		if format.IsRange(name) {
			continue // it is no range, which is reported
		}
		for _, key := range s.PodKeys(name, seen) {
			if !has[key] {
				has[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// PodCount returns the number of pods that a name matches.
func (s *Scenario) PodCount(name string) int {
	total := 0
	if format.IsRange(name) && !s.IsControlled(name) {
		return len(s.PodKeys(name, nil))
	}
	for _, w := range s.Matching(name) {
		_, count := w.Named(name)
		total += count
	}
	return total
}

// Add adds a workload.
func (s *Scenario) Add(w *Workload) {
	if s.byName == nil {
		s.byName = map[string][]*Workload{}
	}
	w.Index, w.admitted = len(s.Workloads), &admitted{pods: map[admittedBy]func() (*v1.Pod, error){}}
	s.Workloads = append(s.Workloads, w)
	s.byName[w.Manifest.Name] = append(s.byName[w.Manifest.Name], w)
	if stem := w.podStem(); stem != w.Manifest.Name && w.Controlled == nil {
		s.byName[stem] = append(s.byName[stem], w)
	}
}

// Matching returns the workloads with pods that a name matches, in the order of the scenario. The
// name of a pod is a stem and the number of a replica.
func (s *Scenario) Matching(name string) []*Workload {
	if name == "" {
		return s.Workloads
	}
	if format.IsRange(name) {
		return s.matchingAny(format.NamesOf(name))
	}
	namespace, name := format.SplitName(name)
	candidates := slices.Clone(s.byName[name])
	for stem := name; stem != "" && stem[len(stem)-1] >= '0' && stem[len(stem)-1] <= '9' &&
		len(name)-len(stem) < len(strconv.Itoa(format.MaxPods)); {
		stem = stem[:len(stem)-1]
		candidates = append(candidates, s.byName[stem]...)
	}
	for stem := range stems(name) {
		candidates = append(candidates, slices.DeleteFunc(slices.Clone(s.byName[stem]),
			func(w *Workload) bool { return w.Controlled == nil })...)
	}
	candidates = slices.DeleteFunc(candidates, func(w *Workload) bool {
		_, count := w.Named(name)
		return count == 0 || namespace != "" && namespace != w.Pod.Namespace
	})
	slices.SortFunc(candidates, func(a, b *Workload) int { return a.Index - b.Index })
	return slices.Compact(candidates)
}

// matchingAny returns the workloads with pods that any of the names match, in the order of the
// scenario.
func (s *Scenario) matchingAny(names []string) []*Workload {
	var all []*Workload
	for _, name := range names {
		if !format.IsRange(name) {
			all = append(all, s.Matching(name)...)
		}
	}
	slices.SortFunc(all, func(a, b *Workload) int { return a.Index - b.Index })
	return slices.Compact(all)
}

// stems yields the names of the Deployments that can own a pod or a ReplicaSet of a name: web of
// web-2-0.
func stems(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for range 2 {
			end := strings.LastIndexByte(name, '-')
			if end < 0 {
				return
			}
			name = name[:end]
			if !yield(name) {
				return
			}
		}
	}
}
