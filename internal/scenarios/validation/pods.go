package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// checkPods resolves the entries of spec.pods. Later checks skip entries whose manifest is missing
// or invalid.
func (c *checker) checkPods() {
	n := c.spec.Field("pods")
	n.ErrorIf(len(n.Items) == 0 && !n.Bad(), "is required: list the pods of the scenario")
	if n.Kind != strict.Sequence || !format.Fits(n) {
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

// add adds the pods of a workload to the scenario. It returns false if there are too many, after
// reporting that at n.
func (c *checker) add(w *workload, n *strict.Node) bool {
	c.scenario.Add(w.Workload)
	c.workloads = append(c.workloads, w)
	c.replicasUnread = c.replicasUnread || w.replicasUnread
	c.pods += w.Replicas
	c.Usage.pods += w.Replicas
	c.values += w.Replicas * w.Manifest.Size
	c.parts += w.Replicas * w.Parts()
	switch {
	case c.pods > format.MaxPods:
		n.Errorf("contains more than %d pods", format.MaxPods)
	case c.Usage.pods > maxFilePods:
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
	all  []*workload
}

// apart reports whether no pod or workload has a name that a Deployment can give to its ReplicaSets
// and pods.
func (t *taken) apart(w *workload, n *strict.Node) bool {
	for _, other := range t.all {
		for _, pair := range [][2]*workload{{w, other}, {other, w}} {
			owner, owned := pair[0], pair[1]
			if owner.Owns(owned.Pod.Namespace+"/"+owned.Manifest.Name) ||
				owned.Controlled == nil && owner.Owns(owned.Key(0)) {
				n.Field("name").Errorf("the Deployment %s could give the name of %s to one of its own ReplicaSets "+
					"or pods", owner.Manifest.Name, owned.Manifest.Name)
				return false
			}
		}
	}
	return true
}

// add reports pods whose name or UID is in use.
func (t *taken) add(w *workload, n *strict.Node) {
	if !t.apart(w, n) {
		return
	}
	t.all = append(t.all, w)
	if w.Controlled != nil {
		return
	}
	for replica := range w.Replicas {
		if t.pods[w.Key(replica)] {
			n.Field("name").Errorf("there would be two pods named %s", w.Key(replica))
			return
		}
		t.pods[w.Key(replica)] = true
	}
	if t.uids[w.Pod.UID] {
		w.errs.At(w.Pod, "metadata.uid").Errorf("another pod of the scenario has the same uid")
	}
	t.uids[w.Pod.UID] = true
}

// workload compiles the pods of a manifest and the programs in their containers. p is the entry of
// spec.pods, n its node. It returns nil if the scenario uses too many manifests, after reporting
// that.
func (c *checker) workload(m *manifests.Object, p *format.Pod, n *strict.Node) *workload {
	beyond := func(patch *strict.Node) bool { return !c.withinMergeLimit(m, patch) }
	if m.Load(); !c.withinValueLimit(m, n) || p.Patch != nil && slices.ContainsFunc(p.Patch.Nodes, beyond) {
		return nil
	}
	w := &workload{Workload: &plan.Workload{Spec: p, Manifest: m}, errs: manifests.PodErrors{Manifest: m}, node: n}
	w.makePod()
	c.checkReplicas(w, n)
	c.control(w, n)
	w.Ephemeral = c.ephemeral(w)
	c.addProbes(w)
	c.checkStatic(w, n)
	c.checkRoom(w, n)
	c.checkSupported(w)
	c.checkGated(w)
	checkAt(n.Field("at"), &p.At, c.scenario.Spec.Duration)
	checkDelays(n.Field("delays"), p.Delays)
	w.Delays = p.Delays.Compile()
	c.checkContainers(w, n.Field("containers"))
	c.checkRedirects(w, n.Field("containers"))
	if list := manifests.NotSimulated(m, w.Pod); len(list) > 0 && w.Controlled == nil {
		w.Notes = append(w.Notes, "not simulated for "+m.Kind.Kind+" "+m.Name+": "+strings.Join(list, ", "))
	}
	w.Notes = append(w.Notes, manifests.PortNotes(w.Pod, &w.errs)...)
	for container := range podutil.Containers(&w.Pod.Spec) {
		w.Notes = append(w.Notes, program.HookNotes(container, w.Containers[container.Name].Program.Rules)...)
	}
	return w
}

// findManifest returns the workload that an entry of spec.pods names, or nil after reporting why
// there is none.
func (c *checker) findManifest(p *format.Pod, n *strict.Node) *manifests.Object {
	n.Field("name").ErrorIf(p.Name == "", "is required: the metadata.name of a workload")
	for _, name := range []string{"name", "kind", "file"} {
		field := n.Field(name)
		field.ErrorIf(name != "name" && field.Written() && field.Value == "", "is empty: leave the field out")
		if field.Bad() || p.Name == "" {
			return nil
		}
	}
	f, where := c.file, "in this file"
	if p.File != "" {
		if f, where = c.open(n.Field("file"), p.File), "in "+p.File; f == nil {
			return nil
		}
	}
	if kinds := f.Kinds(); p.Kind != "" && !f.Broken && !slices.Contains(kinds, p.Kind) {
		n.Field("kind").Errorf("unknown kind %s%s", strict.Quote(p.Kind), strict.OrList(p.Kind, kinds))
		return nil
	}
	return pick(f, where, p, n)
}

// pick returns the only workload of a file that an entry names.
func pick(f *manifests.Objects, where string, p *format.Pod, n *strict.Node) *manifests.Object {
	var found []*manifests.Object
	for _, m := range f.ByName[""] {
		m.Load() // reports the missing name; an unknown name may then belong to this object
	}
	namespace, name := format.SplitName(p.Name)
	for _, m := range f.ByName[name] {
		if (p.Kind == "" || p.Kind == m.Kind.Kind) && (namespace == "" || namespace == m.Namespace()) {
			found = append(found, m)
		}
	}
	kind := cmp.Or(p.Kind, "workload")
	switch {
	case len(found) == 0 && f.MayContain(name):
		return nil
	case len(found) == 0:
		n.Field("name").Errorf("there is no %s %s %s%s", kind, strict.Quote(p.Name), where,
			strict.OrList(p.Name, f.WorkloadNames(p.Kind, namespace != "")))
		return nil
	case len(found) > 1:
		other := slices.IndexFunc(found, func(m *manifests.Object) bool { return m.Kind.Kind != found[0].Kind.Kind })
		if other > 0 {
			n.Field("name").Errorf("there are a %s and a %s named %s %s: set kind", found[0].Kind.Kind,
				found[other].Kind.Kind, p.Name, where)
			return nil
		}
		hint := ""
		if slices.ContainsFunc(found, func(m *manifests.Object) bool { return m.Namespace() != found[0].Namespace() }) {
			hint = fmt.Sprintf(": write the namespace too, as in %s/%s", found[0].Namespace(), name)
		}
		n.Field("name").Errorf("there are %d objects of kind %s named %s %s%s", len(found), found[0].Kind.Kind, p.Name,
			where, hint)
		return nil
	}
	return found[0]
}

// withinValueLimit reports whether the manifests of the file are within the limit of values, which
// bounds the copies of large manifests.
func (c *checker) withinValueLimit(m *manifests.Object, n *strict.Node) bool {
	if c.Usage.values += m.Size; c.Usage.values <= maxFileValues {
		return true
	}
	n.Errorf("the manifests that the scenarios of this file use have more than %d values in total, counted at each use",
		maxFileValues)
	return false
}

// withinLimits reports whether the file is within its limits with a patch of a workload.
func (c *checker) withinLimits(w *workload, patch *strict.Node) bool {
	return c.withinValueLimit(w.Manifest, patch) && c.withinMergeLimit(w.Manifest, patch)
}

// withinMergeLimit reports whether the patches of the file are within their limit. A patch compares
// each of its items with all items of a list in the manifest, to which it adds new ones. Then it
// sorts the list, and each step of the sort compares an item with all others, often several times.
func (c *checker) withinMergeLimit(m *manifests.Object, patch *strict.Node) bool {
	values, _ := patch.Size()
	if c.Usage.merges += (m.Size+values)*values + 4*m.Comparisons; c.Usage.merges <= maxFileMerges {
		return true
	}
	patch.Errorf("the patches of this file are too large: they have too many values, or there are too many for " +
		"manifests with long lists")
	return false
}

// checkReplicas sets the number of pods.
func (c *checker) checkReplicas(w *workload, n *strict.Node) {
	w.Replicas = w.Manifest.Replicas
	if w.Manifest.Kind.Template == "" {
		n.Refuse([]string{"replicas", "stagger"}, "needs a workload with a pod template, and %s is a Pod",
			w.Manifest.Name)
		return
	}
	field := n.Field("replicas")
	if w.Spec.Replicas != nil {
		w.Replicas = *w.Spec.Replicas
	} else if w.Manifest.ReplicasUnread() {
		w.Replicas, w.replicasUnread = 1, true
	}
	if w.Replicas < 1 || w.Replicas > format.MaxPods {
		field.Errorf("must be from 1 to %d, not %d", format.MaxPods, w.Replicas)
		w.Replicas = 1
	}
	w.replicasUnread = w.replicasUnread || field.Bad()
}

// checkSupported reports fields of the pod that this version does not simulate.
func (c *checker) checkSupported(w *workload) {
	for _, e := range admission.ValidateSupported(w.Pod) {
		w.errs.At(w.Pod, e.Field).Errorf("%s", e.Detail)
	}
}

// checkGated reports fields of the pod that the API server rejects because of the feature gates of
// a version.
func (c *checker) checkGated(w *workload) {
	if w.unread {
		return
	}
	said := map[string]bool{}
	for _, p := range c.profiles() {
		for _, e := range admission.ValidateGated(p, w.Pod) {
			if !said[e.Field] {
				w.errs.At(w.Pod, e.Field).Errorf("%s (in %s with its feature gates)", e.ErrorBody(), p.Version)
			}
			said[e.Field] = true
		}
	}
}

// checkRedirects reports redirects from HTTP/2 without TLS to https. Unlike other probes, such a
// probe verifies the certificate, and simulated programs have none.
func (c *checker) checkRedirects(w *workload, containers *strict.Node) {
	kept := func(p profile.Profile) bool { return p.H2CContainerProbe }
	for i, listed := range w.Spec.Containers {
		container := podutil.Find(w.Pod, listed.Name)
		if container == nil || !slices.ContainsFunc(c.profiles(), kept) ||
			!slices.ContainsFunc(podutil.Probes(container), isHTTP2) {
			continue
		}
		for j, a := range listed.Answers {
			containers.Index(i).Field("answers").Index(j).Field("location").ErrorIf(
				strings.HasPrefix(strings.ToLower(a.Location), "https:"),
				"a redirect from HTTP/2 without TLS to https is not supported yet")
		}
	}
}

func isHTTP2(p podutil.Probe) bool { return podutil.IsHTTP2(p.HTTPGet) }
