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
	var keys []string
	names := namesOf(name)
	for _, one := range names {
		for _, w := range s.Matching(one) {
			if w.Controlled != nil {
				keys = append(keys, w.owned(one, seen)...)
				continue
			}
			first, count := w.Named(one)
			for replica := first; replica < first+count; replica++ {
				keys = append(keys, w.Key(replica))
			}
		}
	}
	if len(names) == 1 {
		return keys
	}
	has := map[string]bool{}
	return slices.DeleteFunc(keys, func(key string) bool {
		again := has[key]
		has[key] = true
		return again
	})
}

// namesOf returns the names that a name stands for, without one that is no range, which is
// reported.
func namesOf(name string) []string { return slices.DeleteFunc(format.NamesOf(name), format.IsRange) }

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
	var found []*Workload
	for _, one := range namesOf(name) {
		namespace, name := format.SplitName(one)
		candidates := slices.Clone(s.byName[name])
		for stem := name; stem != "" && stem[len(stem)-1] >= '0' && stem[len(stem)-1] <= '9' &&
			len(name)-len(stem) < len(strconv.Itoa(format.MaxPods)); {
			stem = stem[:len(stem)-1]
			candidates = append(candidates, s.byName[stem]...)
		}
		stem := name // web of web-2-0, for the pods and ReplicaSets of a Deployment
		for range 2 {
			if stem = stem[:max(0, strings.LastIndexByte(stem, '-'))]; stem != "" {
				candidates = append(candidates, s.byName[stem]...)
			}
		}
		found = append(found, slices.DeleteFunc(candidates, func(w *Workload) bool {
			_, count := w.Named(name)
			return count == 0 || namespace != "" && namespace != w.Pod.Namespace
		})...)
	}
	slices.SortFunc(found, func(a, b *Workload) int { return a.Index - b.Index })
	return slices.Compact(found)
}
