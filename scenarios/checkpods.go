package scenarios

import (
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// checkPods resolves the entries of spec.pods. One whose manifest cannot be found or is wrong is left
// out of what follows.
func (c *checker) checkPods() {
	n := c.spec.Field("pods")
	if n.Kind != strict.Sequence || len(n.Items) == 0 {
		if !n.Bad() {
			n.Errorf("is required: say which pods the scenario has")
		}
		return
	}
	if !c.fits(n) {
		return
	}
	names := taken{pods: map[string]bool{}, uids: map[types.UID]bool{}}
	for i := range c.scenario.Spec.Pods {
		w := c.workload(&c.scenario.Spec.Pods[i], n.Index(i))
		if w == nil {
			continue
		}
		names.add(w, n.Index(i))
		c.scenario.workloads = append(c.scenario.workloads, w)
		c.values += w.replicas * w.manifest.size
		c.parts += w.replicas * w.parts()
		switch {
		case len(names.pods) > MaxPods:
			n.Errorf("are more than %d pods", MaxPods)
			return
		case c.parts > maxParts:
			n.Errorf("have more than %d pods, containers and probes, counted together: have fewer replicas", maxParts)
			return
		case c.values > maxPodValues:
			n.Errorf("have manifests with more than %d values, counted for each pod", maxPodValues)
			return
		}
	}
}

// taken are the names that no further pod can have.
type taken struct {
	pods map[string]bool // namespace/name
	uids map[types.UID]bool
}

// add refuses pods that there are already.
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

// workload resolves one entry, or returns nil after saying what is wrong.
func (c *checker) workload(p *Pod, n *strict.Node) *workload {
	if n.Kind != strict.Mapping {
		return nil
	}
	m := c.findManifest(p, n)
	if m == nil {
		return nil
	}
	if m.load(); !c.affordable(m, n) {
		return nil
	}
	w := &workload{spec: p, manifest: m, errs: podErrors{manifest: m}}
	w.makePod()
	c.checkReplicas(w, n)
	c.checkSupported(w)
	c.checkGated(w)
	c.checkStopSignals(w)
	checkAt(n.Field("at"), &p.At, c.scenario.Spec.Duration)
	checkDelays(n.Field("delays"), p.Delays)
	w.delays = p.Delays.compile()
	c.checkContainers(w, n.Field("containers"))
	c.checkRedirects(w, n.Field("containers"))
	return w
}

// affordable refuses to copy large manifests again and again.
func (c *checker) affordable(m *manifest, n *strict.Node) bool {
	if c.loader.values += m.size; c.loader.values <= maxFileValues {
		return true
	}
	n.Errorf("the manifests that the scenarios of this file use have more than %d values, counted each time", maxFileValues)
	return false
}

// makePod applies the patch and the defaults, and checks the pod again if it was patched.
func (w *workload) makePod() {
	w.pod = w.manifest.newPod()
	w.unread = !containersRead(w.manifest.root())
	patched := w.patched()
	if patched != nil {
		patched.Name, patched.Namespace = w.pod.Name, w.pod.Namespace // also if metadata is replaced
		w.pod, w.errs.patch = patched, w.spec.Patch.node
	}
	admission.Default(w.pod)
	if patched != nil && !w.unread {
		w.manifest.check(&w.errs, w.pod)
	}
}

// patched returns the pod with the patch applied, or nil.
func (w *workload) patched() *v1.Pod {
	if w.spec.Patch == nil {
		return nil
	}
	patched := w.spec.Patch.apply(w.pod)
	w.unread = w.unread || patched == nil || !containersRead(w.spec.Patch.node)
	return patched
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

// checkReplicas finds how many pods there are.
func (c *checker) checkReplicas(w *workload, n *strict.Node) {
	w.replicas = w.manifest.replicas
	if w.manifest.kind.template == "" {
		for _, name := range []string{"replicas", "stagger"} {
			if field := n.Field(name); field.Written() {
				field.Errorf("is for what has a pod template, and %s is a Pod", w.manifest.name)
			}
		}
		return
	}
	field := n.Field("replicas")
	if w.spec.Replicas != nil {
		w.replicas = *w.spec.Replicas
	} else if w.manifest.uncounted() {
		w.replicas, w.uncounted = 1, true
	}
	if w.replicas < 1 || w.replicas > MaxPods {
		field.Errorf("must be from 1 to %d and not %d", MaxPods, w.replicas)
		w.replicas = 1
	}
	w.uncounted = w.uncounted || field.Bad()
}

// checkSupported refuses what the pod has and this version does not simulate.
func (c *checker) checkSupported(w *workload) {
	refuse := func(field, name string) {
		w.errs.at(w.pod, field).Errorf("%s is not supported yet", name)
	}
	for _, u := range unsupportedInPods {
		if u.used(w.pod) {
			refuse(u.path, path.Ext(u.path)[1:])
		}
	}
	for i := range w.pod.Spec.InitContainers {
		checkContainerSupported(&w.pod.Spec.InitContainers[i], fmt.Sprintf("spec.initContainers[%d].", i), refuse)
	}
	for i := range w.pod.Spec.Containers {
		checkContainerSupported(&w.pod.Spec.Containers[i], fmt.Sprintf("spec.containers[%d].", i), refuse)
	}
}

// checkContainerSupported does the same for a container, whose fields have this prefix.
func checkContainerSupported(c *v1.Container, prefix string, refuse func(field, name string)) {
	if c.Image != "" && !admission.IsImage(c.Image) {
		refuse(prefix+"image", "an image whose name is no reference")
	}
	for _, p := range probesOf(c) {
		checkHTTPGetSupported(p.probe.HTTPGet, prefix+p.field, refuse)
	}
	for _, key := range hookKeys {
		if hook := hookOf(c, key); hook != nil {
			checkHTTPGetSupported(hook.HTTPGet, prefix+"lifecycle."+key, refuse)
		}
	}
}

// checkHTTPGetSupported does the same for an httpGet handler, if there is one.
func checkHTTPGetSupported(h *v1.HTTPGetAction, of string, refuse func(field, name string)) {
	if h == nil {
		return
	}
	for _, u := range unsupportedInHTTPGet {
		if u.used(h) {
			refuse(of+".httpGet."+u.path, u.what)
		}
	}
}

// checkAt refuses what would come after the end of the run.
func checkAt(n *strict.Node, at *value.Draw, duration value.Duration) {
	if n.Written() && !n.Bad() && at.Min > duration.Time() {
		n.Errorf("%s is after the end of the run at %s", at, duration)
	}
}
