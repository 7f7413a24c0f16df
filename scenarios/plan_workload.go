package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// workload is an entry of spec.pods with its manifest and compiled programs.
type workload struct {
	spec           *Pod
	manifest       *manifest
	errs           podErrors
	pod            *v1.Pod // replica 0, patched, with defaults
	replicas       int
	unread         bool // some containers or their names could not be read
	replicasUnread bool // the number of replicas could not be read
	containers     map[string]fakeruntime.ContainerConfig
	ephemeral      []*v1.Container          // ephemeral containers that steps add
	withAdded      map[string]*v1.Container // containers by name, with the probes that steps add
	before         map[*PatchPod]*v1.Pod    // the pod before each patch of probes, with the changes of earlier ones
	debugged       []*Debug                 // the steps that have been checked
	byName         map[string]*v1.Container // containers of the pod, and those that steps add; nil until container needs it
	index          int                      // in the workloads of the scenario
	delays         fakeruntime.Delays
	notes          []string // what a reader of the runs has to know about the programs
	admitted       *admitted
}

// admitted are the pods of a workload that API servers have admitted. Runs at the same time share them.
type admitted struct {
	mu   sync.Mutex
	pods map[admittedBy]apiAnswer
}

type admittedBy struct {
	release profile.Profile
	replica int
}

// apiAnswer is the answer of an API server about a pod.
type apiAnswer struct {
	pod *v1.Pod
	err error
}

// pod returns the pod of a replica as the API server of a release stores it, or the error of the server.
func (a *admitted) pod(w *workload, release profile.Profile, replica int) (*v1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := admittedBy{release, replica}
	answer, known := a.pods[key]
	if !known {
		if a.pods == nil {
			a.pods = map[admittedBy]apiAnswer{}
		}
		answer.pod, answer.err = admission.Admit(release, w.newPod(replica))
		a.pods[key] = answer
	}
	return answer.pod, answer.err
}

// key returns the namespace/name of a replica.
func (w *workload) key(replica int) string {
	return w.pod.Namespace + "/" + w.podName(replica)
}

// podName returns the name of the pod of a replica.
func (w *workload) podName(replica int) string {
	if w.spec.Static {
		return admission.StaticName(w.manifest.podName(0))
	}
	return w.manifest.podName(replica)
}

// newPod returns the pod of a replica.
func (w *workload) newPod(replica int) *v1.Pod {
	if w.spec.Static {
		return admission.Static(w.pod)
	}
	pod := w.pod.DeepCopy()
	pod.Name = w.podName(replica)
	if w.manifest.kind.template != "" {
		pod.UID = admission.UID(pod.Namespace, pod.Name)
	}
	return pod
}

// allContainers returns the containers of the pod, init containers first.
func (w *workload) allContainers() []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// container returns a container of the pod, or an ephemeral container that a step adds, or nil.
func (w *workload) container(name string) *v1.Container {
	if w.byName == nil {
		w.byName = map[string]*v1.Container{}
		for _, c := range slices.Backward(append(w.allContainers(), w.ephemeral...)) {
			w.byName[c.Name] = c
		}
	}
	return w.byName[name]
}

func (w *workload) hasSeveralContainers() bool {
	return len(w.pod.Spec.InitContainers)+len(w.pod.Spec.Containers) > 1
}

// parts returns the number of pods, containers and probes of one replica.
func (w *workload) parts() int {
	parts := 1 + len(w.pod.Spec.InitContainers)
	for i := range w.pod.Spec.Containers {
		parts += 1 + len(probesOf(&w.pod.Spec.Containers[i]))
	}
	return parts
}

// containerNames returns the names of the containers to suggest.
func (w *workload) containerNames() []string {
	var names []string
	all := append(w.allContainers(), w.ephemeral...)
	for _, c := range all[:min(len(all), strict.MaxSuggestions)] {
		names = append(names, c.Name)
	}
	return names
}

// makePod applies the patch and sets the defaults. It checks a patched pod again.
func (w *workload) makePod() {
	w.pod = w.manifest.newPod()
	w.unread = !containersRead(w.manifest.root())
	patched := w.patched()
	if patched != nil {
		patched.Name, patched.Namespace = w.pod.Name, w.pod.Namespace // even if the patch replaces the metadata
		w.pod, w.errs.patches = patched, w.spec.Patch.nodes
	}
	admission.Default(w.pod)
	if patched != nil && !w.unread {
		w.manifest.check(&w.errs, w.pod)
	}
}

// patched returns the pod with the patch applied, or nil if there is none or it cannot be applied.
func (w *workload) patched() *v1.Pod {
	if w.spec.Patch == nil {
		return nil
	}
	patched := w.spec.Patch.apply(w.pod)
	w.unread = w.unread || patched == nil || !allContainersRead(w.spec.Patch.nodes)
	return patched
}

func allContainersRead(patches []*strict.Node) bool {
	return !slices.ContainsFunc(patches, func(n *strict.Node) bool { return !containersRead(n) })
}

// containersRead reports whether the containers in a pod or patch, and their names, could be read.
func containersRead(root *strict.Node) bool {
	if !root.Bad() {
		return true
	}
	for _, field := range []string{"initContainers", "containers"} {
		list := root.Field("spec").Field(field)
		if list.Unread() {
			return false
		}
		for _, item := range list.Items {
			if name := item.Field("name"); name.Unread() || name.Value == "" {
				return false
			}
		}
	}
	return true
}

// apply returns the patched pod, or nil after reporting why a patch cannot be applied. Invalid parts of the
// patches are left out.
func (p *patch) apply(pod *v1.Pod) *v1.Pod {
	for _, n := range p.nodes {
		if n.Kind != strict.Mapping {
			return nil
		}
		patched, err := admission.Merge(pod, n.JSON())
		if err != nil {
			if !n.Bad() { // otherwise the invalid parts may be the reason
				n.Errorf("cannot be applied: %s", err)
			}
			return nil
		}
		pod = patched
	}
	return pod
}

func (w *workload) stagger() value.Draw {
	if w.spec.Stagger != nil {
		return *w.spec.Stagger
	}
	return value.Draw{Min: defaultStagger, Max: defaultStagger}
}

// program returns the program of the pod of a replica. Replicas share the parts that are equal.
func (w *workload) program(pod *v1.Pod, replica int) fakeruntime.Pod {
	containers := w.containers
	if len(w.ephemeral) > 0 {
		containers = maps.Clone(containers)
		for _, c := range w.ephemeral {
			delete(containers, c.Name)
		}
	}
	return fakeruntime.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Workload: w.manifest.name, Replica: replica, HostNetwork: pod.Spec.HostNetwork,
		Delays: w.delays, Containers: containers,
	}
}

// Rule returns the rule with a number, from 1, in the behavior of a container of a pod, or nil. The pod is named namespace/name.
func (p *Plan) Rule(pod, container string, number int) *Rule {
	for _, w := range p.Scenario.workloads {
		for replica := range w.replicas {
			if w.key(replica) == pod {
				return w.rule(container, number)
			}
		}
	}
	return nil
}

func (w *workload) rule(container string, number int) *Rule {
	for i := range w.spec.Containers {
		if c := &w.spec.Containers[i]; c.Name == container && number > 0 && number <= len(c.Behavior) {
			return &c.Behavior[number-1]
		}
	}
	return nil
}

// Says returns where the rule is written and its words, such as "web.yaml:14 says {for: 20s, probes: fail}".
func (r *Rule) Says() string {
	const longest = 200
	text := r.Text
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	switch {
	case r.Flag != "":
		return "--app says " + printable.Text(strconv.Quote(r.Flag))
	case r.Line == 0:
		return "its behavior says " + printable.Text(text)
	}
	return printable.Text(fmt.Sprintf("%s:%d says %s", r.File, r.Line, text))
}

// PodKeys returns the pods that a name matches, as namespace/name in the order of the scenario. The name of a pod
// matches the pod, the name of a workload matches all its pods, and an empty name matches all pods of the
// scenario. NAMESPACE/NAME matches only pods in this namespace.
//
// A name with a range, such as web-{0..2}, matches what its names match.
func (s *Scenario) PodKeys(name string) []string {
	if isRange(name) {
		return s.keysOf(namesOf(name))
	}
	var keys []string
	for _, w := range s.matching(name) {
		first, count := w.named(name)
		for replica := first; replica < first+count; replica++ {
			keys = append(keys, w.key(replica))
		}
	}
	return keys
}

// keysOf returns the pods that any of the names match, each once.
func (s *Scenario) keysOf(names []string) []string {
	var keys []string
	has := map[string]bool{}
	for _, name := range names {
		if isRange(name) {
			continue // it is no range, which is reported
		}
		for _, key := range s.PodKeys(name) {
			if !has[key] {
				has[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// podCount returns the number of pods that a name matches.
func (s *Scenario) podCount(name string) int {
	if isRange(name) {
		return len(s.PodKeys(name))
	}
	total := 0
	for _, w := range s.matching(name) {
		_, count := w.named(name)
		total += count
	}
	return total
}

// add adds a workload.
func (s *Scenario) add(w *workload) {
	if s.byName == nil {
		s.byName = map[string][]*workload{}
	}
	w.index = len(s.workloads)
	s.workloads = append(s.workloads, w)
	s.byName[w.manifest.name] = append(s.byName[w.manifest.name], w)
	if stem := w.podStem(); stem != w.manifest.name {
		s.byName[stem] = append(s.byName[stem], w)
	}
}

// matching returns the workloads with pods that a name matches, in the order of the scenario. The name of a pod is a stem
// and the number of a replica.
func (s *Scenario) matching(name string) []*workload {
	if name == "" {
		return s.workloads
	}
	if isRange(name) {
		return s.matchingAny(namesOf(name))
	}
	namespace, name := splitName(name)
	candidates := slices.Clone(s.byName[name])
	for stem := name; stem != "" && stem[len(stem)-1] >= '0' && stem[len(stem)-1] <= '9' && len(name)-len(stem) < len(strconv.Itoa(MaxPods)); {
		stem = stem[:len(stem)-1]
		candidates = append(candidates, s.byName[stem]...)
	}
	candidates = slices.DeleteFunc(candidates, func(w *workload) bool {
		_, count := w.named(name)
		return count == 0 || namespace != "" && namespace != w.pod.Namespace
	})
	slices.SortFunc(candidates, func(a, b *workload) int { return a.index - b.index })
	return slices.Compact(candidates)
}

// matchingAny returns the workloads with pods that any of the names match, in the order of the scenario.
func (s *Scenario) matchingAny(names []string) []*workload {
	var all []*workload
	for _, name := range names {
		if !isRange(name) {
			all = append(all, s.matching(name)...)
		}
	}
	slices.SortFunc(all, func(a, b *workload) int { return a.index - b.index })
	return slices.Compact(all)
}

// splitName splits NAMESPACE/NAME. The namespace of a name without one is empty.
func splitName(name string) (namespace, bare string) {
	if namespace, bare, has := strings.Cut(name, "/"); has {
		return namespace, bare
	}
	return "", name
}

// podStem returns the part that the names of the pods have in common.
func (w *workload) podStem() string { return strings.TrimSuffix(w.podName(0), "0") }

// named returns the replicas of the workload that a name matches: the first, and their number.
func (w *workload) named(name string) (first, count int) {
	_, name = splitName(name)
	own := w.manifest.name
	if name == "" || name == own || w.spec.Static && name == w.podName(0) {
		return 0, w.replicas
	}
	number, ok := strings.CutPrefix(name, w.podStem())
	replica, err := strconv.Atoi(number)
	if !ok || err != nil || replica < 0 || replica >= w.replicas || name != w.podName(replica) {
		return 0, 0
	}
	return replica, 1
}

// podNames returns the names to suggest: of the workloads, and of the first ten pods of each.
func (s *Scenario) podNames() []string {
	var names []string
	for _, w := range s.workloads {
		if len(names) >= strict.MaxSuggestions {
			break
		}
		names = append(names, w.manifest.name)
		if w.manifest.kind.template != "" {
			for replica := range min(w.replicas, 10) {
				names = append(names, w.manifest.podName(replica))
			}
		}
	}
	return names
}
