package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
)

// checkPods resolves the entries of spec.pods. Later checks skip entries whose manifest is missing or invalid.
func (c *checker) checkPods() {
	n := c.spec.Field("pods")
	if n.Kind != strict.Sequence || len(n.Items) == 0 {
		if !n.Bad() {
			n.Errorf("is required: list the pods of the scenario")
		}
		return
	}
	if !c.fits(n) {
		return
	}
	names := taken{pods: map[string]bool{}, uids: map[types.UID]bool{}}
	for i := range c.scenario.Spec.Pods {
		entry, item := &c.scenario.Spec.Pods[i], n.Index(i)
		if item.Kind != strict.Mapping {
			continue
		}
		m := c.findManifest(entry, item)
		if m == nil {
			continue
		}
		w := c.workload(m, entry, item)
		if w == nil {
			continue
		}
		if !c.add(w, n) {
			return
		}
		names.add(w, item)
	}
}

// add adds the pods of a workload to the scenario. It returns false if there are too many, after reporting that at n.
func (c *checker) add(w *workload, n *strict.Node) bool {
	c.scenario.add(w)
	c.replicasUnread = c.replicasUnread || w.replicasUnread
	c.pods += w.replicas
	c.loader.pods += w.replicas
	c.values += w.replicas * w.manifest.size
	c.parts += w.replicas * w.parts()
	switch {
	case c.pods > MaxPods:
		n.Errorf("contains more than %d pods", MaxPods)
	case c.loader.pods > maxFilePods:
		n.Errorf("the scenarios of this file have more than %d pods in total", maxFilePods)
	case c.parts > maxParts:
		n.Errorf("contains more than %d pods, containers and probes in total: use fewer replicas", maxParts)
	case c.values > maxPodValues:
		n.Errorf("uses manifests with more than %d values in total, counted for each pod", maxPodValues)
	default:
		return true
	}
	return false
}

// taken are the names and UIDs that are in use.
type taken struct {
	pods map[string]bool // by namespace/name
	uids map[types.UID]bool
}

// add reports pods whose name or UID is in use.
func (t *taken) add(w *workload, n *strict.Node) {
	for replica := range w.replicas {
		if t.pods[w.key(replica)] {
			n.Field("name").Errorf("there would be two pods named %s", w.key(replica))
			return
		}
		t.pods[w.key(replica)] = true
	}
	if t.uids[w.pod.UID] {
		w.errs.at(w.pod, "metadata.uid").Errorf("another pod of the scenario has the same uid")
	}
	t.uids[w.pod.UID] = true
}

// workload compiles the pods of a manifest and the programs in their containers. p is the entry of spec.pods, n its node.
// It returns nil if the scenario uses too many manifests, after reporting that.
func (c *checker) workload(m *manifest, p *Pod, n *strict.Node) *workload {
	if m.load(); !c.withinValueLimit(m, n) || p.Patch != nil && !c.withinMergeLimits(m, p.Patch.nodes) {
		return nil
	}
	w := &workload{spec: p, manifest: m, errs: podErrors{manifest: m}, admitted: &admitted{}}
	w.makePod()
	c.checkReplicas(w, n)
	w.ephemeral = c.ephemeral(w)
	c.addProbes(w)
	c.checkStatic(w, n)
	c.checkSupported(w)
	c.checkGated(w)
	c.checkStopSignals(w)
	checkAt(n.Field("at"), &p.At, c.scenario.Spec.Duration)
	checkDelays(n.Field("delays"), p.Delays)
	w.delays = p.Delays.compile()
	c.checkContainers(w, n.Field("containers"))
	c.checkRedirects(w, n.Field("containers"))
	w.notes = append(append(w.notes, portNotes(w.pod, &w.errs)...), w.hookNotes()...)
	return w
}

// findManifest returns the workload that an entry of spec.pods names, or nil after reporting why there is none.
func (c *checker) findManifest(p *Pod, n *strict.Node) *manifest {
	for _, name := range []string{"name", "kind", "file"} {
		if n.Field(name).Bad() {
			return nil
		}
	}
	for _, name := range []string{"kind", "file"} {
		if field := n.Field(name); field.Written() && field.Value == "" {
			field.Errorf("is empty: leave the field out")
			return nil
		}
	}
	if p.Name == "" {
		n.Field("name").Errorf("is required: the metadata.name of a workload")
		return nil
	}
	f, where := c.file, "in this file"
	if p.File != "" {
		if f, where = c.manifestFile(c.file, n.Field("file"), p.File), "in "+p.File; f == nil {
			return nil
		}
	}
	if kinds := f.kinds(); p.Kind != "" && !f.broken && !slices.Contains(kinds, p.Kind) {
		n.Field("kind").Errorf("unknown kind %s%s", strict.Quote(p.Kind), strict.OrList(p.Kind, kinds))
		return nil
	}
	return pick(f, where, p, n)
}

// pick returns the only workload of a file that an entry names.
func pick(f *file, where string, p *Pod, n *strict.Node) *manifest {
	var found []*manifest
	for _, m := range f.byName[""] {
		m.load() // reports the missing name; an unknown name may then belong to this object
	}
	namespace, name := splitName(p.Name)
	for _, m := range f.byName[name] {
		if (p.Kind == "" || p.Kind == m.kind.kind) && (namespace == "" || namespace == m.namespace()) {
			found = append(found, m)
		}
	}
	kind := p.Kind
	if kind == "" {
		kind = "workload"
	}
	switch {
	case len(found) == 0 && f.mayContain(name):
		return nil
	case len(found) == 0:
		n.Field("name").Errorf("there is no %s %s %s%s", kind, strict.Quote(p.Name), where, strict.OrList(p.Name, f.workloadNames(p.Kind, namespace != "")))
		return nil
	case len(found) > 1:
		other := slices.IndexFunc(found, func(m *manifest) bool { return m.kind.kind != found[0].kind.kind })
		if other > 0 {
			n.Field("name").Errorf("there are a %s and a %s named %s %s: set kind", found[0].kind.kind, found[other].kind.kind, p.Name, where)
			return nil
		}
		hint := ""
		if slices.ContainsFunc(found, func(m *manifest) bool { return m.namespace() != found[0].namespace() }) {
			hint = fmt.Sprintf(": write the namespace too, as in %s/%s", found[0].namespace(), name)
		}
		n.Field("name").Errorf("there are %d objects of kind %s named %s %s%s", len(found), found[0].kind.kind, p.Name, where, hint)
		return nil
	}
	return found[0]
}

// workloadNames returns the names of the workloads of a kind, or of all workloads if kind is empty, with their namespaces if it should.
func (f *file) workloadNames(kind string, namespaces bool) []string {
	var names []string
	for _, m := range f.manifests {
		if len(names) < strict.MaxSuggestions && (kind == "" || kind == m.kind.kind) {
			name := m.name
			if namespaces {
				name = m.namespace() + "/" + name
			}
			names = append(names, name)
		}
	}
	return names
}

// withinValueLimit reports whether the manifests of the file are within the limit of values, which bounds the copies of
// large manifests.
func (c *checker) withinValueLimit(m *manifest, n *strict.Node) bool {
	if c.loader.values += m.size; c.loader.values <= maxFileValues {
		return true
	}
	n.Errorf("the manifests that the scenarios of this file use have more than %d values in total, counted at each use", maxFileValues)
	return false
}

// withinMergeLimits calls withinMergeLimit for each patch.
func (c *checker) withinMergeLimits(m *manifest, patches []*strict.Node) bool {
	return !slices.ContainsFunc(patches, func(n *strict.Node) bool { return !c.withinMergeLimit(m, n) })
}

// withinMergeLimit reports whether the patches of the file are within their limit. A patch compares each of its items with
// all items of a list in the manifest, to which it adds new ones. Then it sorts the list, and each step of the sort compares
// an item with all others, often several times.
func (c *checker) withinMergeLimit(m *manifest, patch *strict.Node) bool {
	values, _ := patch.Size()
	if c.loader.merges += (m.size+values)*values + 4*m.comparisons; c.loader.merges <= maxFileMerges {
		return true
	}
	patch.Errorf("the patches of this file are too large: they have too many values, or there are too many for manifests with long lists")
	return false
}

// checkReplicas sets the number of pods.
func (c *checker) checkReplicas(w *workload, n *strict.Node) {
	w.replicas = w.manifest.replicas
	if w.manifest.kind.template == "" {
		for _, name := range []string{"replicas", "stagger"} {
			if field := n.Field(name); field.Written() {
				field.Errorf("needs a workload with a pod template, and %s is a Pod", w.manifest.name)
			}
		}
		return
	}
	field := n.Field("replicas")
	if w.spec.Replicas != nil {
		w.replicas = *w.spec.Replicas
	} else if w.manifest.replicasUnread() {
		w.replicas, w.replicasUnread = 1, true
	}
	if w.replicas < 1 || w.replicas > MaxPods {
		field.Errorf("must be from 1 to %d, not %d", MaxPods, w.replicas)
		w.replicas = 1
	}
	w.replicasUnread = w.replicasUnread || field.Bad()
}

// podErrors reports errors about a pod where its fields are written: in the last patch that has the field, otherwise
// in the manifest.
type podErrors struct {
	manifest *manifest
	patches  []*strict.Node
}

func (p *podErrors) report(pod *v1.Pod, e *field.Error) {
	p.at(pod, e.Field).Errorf("%s", e.ErrorBody())
}

// at returns the node of a field of the pod. A field that is not written has a missing node.
func (p *podErrors) at(pod *v1.Pod, path string) *strict.Node {
	if path == "metadata.name" || path == "metadata.namespace" {
		return p.manifest.node.Find(path)
	}
	written, known := findInPod(p.manifest.root(), pod, path)
	var missing *strict.Node // where a patch would have the field
	for _, patch := range slices.Backward(p.patches) {
		patched, knows := findInPod(patch, pod, path)
		if knows && patched.Written() {
			return patched
		}
		if missing == nil || knows {
			missing = patched
		}
	}
	if known || missing == nil {
		return written
	}
	return missing
}

var containerPath = regexp.MustCompile(`^spec\.(containers|initContainers)\[(\d+)\]\.?(.*)$`)

// findInPod is like Find, but finds containers by name, because a patch lists only some of them. It returns false
// if the container is not there.
func findInPod(root *strict.Node, pod *v1.Pod, path string) (*strict.Node, bool) {
	m := containerPath.FindStringSubmatch(path)
	if m == nil {
		return root.Find(path), true
	}
	index, _ := strconv.Atoi(m[2])
	containers := pod.Spec.Containers
	if m[1] == "initContainers" {
		containers = pod.Spec.InitContainers
	}
	list, name := root.Field("spec").Field(m[1]), containers[index].Name
	named := func(i int) bool {
		return i < len(list.Items) && list.Items[i].Field("name").Value == name
	}
	for i := 0; !named(index) && i < len(list.Items); i++ {
		if named(i) {
			index = i
		}
	}
	return list.Index(index).Find(m[3]), named(index)
}
