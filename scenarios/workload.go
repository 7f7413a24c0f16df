package scenarios

import (
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/podspec"
	"probesim.dev/scenarios/strict"
	"probesim.dev/scenarios/value"
)

// workload is an entry of spec.pods with its manifest found: the pods that it brings.
type workload struct {
	spec       *Pod
	manifest   *manifest
	errs       podErrors
	pod        *v1.Pod // patched, with defaults, as replica 0
	replicas   int
	containers map[string]fakeruntime.ContainerConfig
	delays     fakeruntime.Delays
}

// key returns namespace/name of the pod of a replica.
func (w *workload) key(replica int) string {
	return w.pod.Namespace + "/" + w.manifest.podName(replica)
}

// newPod returns the pod of a replica.
func (w *workload) newPod(replica int) *v1.Pod {
	pod := w.pod.DeepCopy()
	pod.Name = w.manifest.podName(replica)
	if w.manifest.kind.template != "" {
		pod.UID = podspec.UID(pod.Namespace, pod.Name)
	}
	return pod
}

// container returns a container of the pod, an init container too, or nil.
func (w *workload) container(name string) *v1.Container {
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func (w *workload) containerNames() []string {
	var names []string
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	return names
}

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
	pods := map[string]bool{}
	for i := range c.scenario.Spec.Pods {
		w := c.workload(&c.scenario.Spec.Pods[i], n.Index(i))
		if w == nil {
			continue
		}
		c.scenario.workloads = append(c.scenario.workloads, w)
		for replica := range w.replicas {
			if pods[w.key(replica)] {
				n.Index(i).Field("name").Errorf("there would be two pods named %s", w.key(replica))
				break
			}
			pods[w.key(replica)] = true
		}
		c.values += w.replicas * w.manifest.size
		switch {
		case len(pods) > MaxPods:
			n.Errorf("are more than %d pods", MaxPods)
			return
		case c.values > maxPodValues:
			n.Errorf("have manifests with more than %d values, counted for each pod", maxPodValues)
			return
		}
	}
}

// workload resolves one entry, or returns nil after saying what is wrong.
func (c *checker) workload(p *Pod, n *strict.Node) *workload {
	m := c.findManifest(p, n)
	if m == nil {
		return nil
	}
	m.load()
	w := &workload{spec: p, manifest: m, errs: podErrors{manifest: m}}
	if m.node.Bad() || !c.affordable(m, n) || !c.makePod(w, n) {
		return nil
	}
	c.checkReplicas(w, n)
	c.checkSupported(w)
	checkAt(n.Field("at"), &p.At, c.scenario.Spec.Duration)
	checkDelays(n.Field("delays"), p.Delays)
	w.delays = p.Delays.compile()
	c.checkContainers(w, n.Field("containers"))
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
func (c *checker) makePod(w *workload, n *strict.Node) bool {
	w.pod = w.manifest.newPod()
	if p := w.spec.Patch; p != nil {
		if w.pod = p.apply(w.pod); w.pod == nil {
			return false
		}
		w.errs.patch = p.node
	}
	w.pod.Name = w.manifest.podName(0)
	podspec.Default(w.pod)
	if w.spec.Patch != nil {
		w.manifest.check(&w.errs, w.pod)
	}
	return !n.Field("patch").Bad()
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
	if w.spec.Replicas != nil {
		w.replicas = *w.spec.Replicas
	}
	if field := n.Field("replicas"); w.replicas < 1 || w.replicas > MaxPods {
		field.Errorf("must be from 1 to %d and not %d", MaxPods, w.replicas)
		w.replicas = 1
	}
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
	for i := range w.pod.Spec.Containers {
		container := &w.pod.Spec.Containers[i]
		prefix := fmt.Sprintf("spec.containers[%d].", i)
		for _, u := range unsupportedInContainers {
			if u.used(container) {
				refuse(prefix+u.path, u.path)
			}
		}
		for _, p := range probesOf(container) {
			for _, u := range unsupportedHandlers {
				if u.used(p.probe) {
					refuse(prefix+p.field+"."+u.name, u.name)
				}
			}
		}
	}
}

// checkAt refuses what would come after the end of the run.
func checkAt(n *strict.Node, at *value.Draw, duration value.Duration) {
	if n.Written() && !n.Bad() && at.Min > duration.Time() {
		n.Errorf("%s is after the end of the run at %s", at, duration)
	}
}
