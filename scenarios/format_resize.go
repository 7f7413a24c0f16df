package scenarios

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// Resize changes the resources of running pods, as kubectl patch --subresource resize does.
type Resize struct {
	Pod  string            `json:"pod,omitempty"` // as in Delete
	Spec *part[v1.PodSpec] `json:"spec"`

	text string // source text on one line
}

func (r *Resize) target() string { return r.Pod }

func (*Resize) name() string { return "resize" }

// json returns the patch for the API server.
func (r *Resize) json() []byte {
	data, err := json.Marshal(struct {
		Spec *part[v1.PodSpec] `json:"spec"`
	}{r.Spec})
	if err != nil {
		panic(err) // the part is valid JSON
	}
	return data
}

// check applies the patch to the pods in their initial state. It does not consider what other steps change before.
func (r *Resize) check(c *checker, n *strict.Node) {
	r.text = n.Text()
	c.checkTarget(r.Pod, n)
	switch {
	case n.Bad():
		return
	case r.Spec == nil:
		n.Errorf("changes nothing: write the resources of containers under spec")
		return
	}
	for _, p := range c.profiles() {
		if !p.ResizesAreQueued {
			n.Errorf("the kubelet of %s resizes pods by other rules, which are not simulated: write later versions in kubernetesVersions", p.Version)
			return
		}
	}
	for _, w := range c.scenario.matching(r.Pod) {
		for _, p := range c.profiles() {
			if !n.Bad() && c.withinValueLimit(w.manifest, n) && c.withinMergeLimit(w.manifest, n) {
				r.checkPod(p, w, n)
			}
		}
	}
}

func (r *Resize) checkPod(p profile.Profile, w *workload, n *strict.Node) {
	before := w.newPod(0)
	admission.Default(before)
	patched, err := admission.Merge(before, r.json())
	if err != nil {
		n.Errorf("cannot be applied: %s", err)
		return
	}
	admission.Default(patched)
	known := map[string]bool{} // errors of the manifest, reported there
	for _, e := range admission.Validate(before) {
		known[e.Error()] = true
	}
	for _, e := range admission.ValidateResize(p, patched, before) {
		if known[e.Error()] {
			continue
		}
		at := n.Field("spec")
		if written, _ := findInPod(n, patched, e.Field); written.Written() {
			at = written
		}
		at.Errorf("%s", e.ErrorBody())
	}
}

func (r *Resize) do(driver *Driver, _ int) bool {
	return driver.eachPod(r.Pod, func(p *PlannedPod) bool {
		if !driver.hasObject(p) {
			return false
		}
		pod := p.Pod
		driver.world.Record(trace.Record{Kind: trace.Step, Pod: pod.Namespace + "/" + pod.Name, Reason: r.name(), Message: r.text})
		return driver.check(driver.world.ResizePod(pod.Namespace, pod.Name, r.json()))
	})
}
