package validation

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
)

// checkResize applies the patch to the pods in their initial state. It does not consider what other
// steps change before.
func (c *checker) checkResize(r *format.Resize, n *strict.Node) {
	switch {
	case n.Bad():
		return
	case r.Spec == nil:
		n.Errorf("changes nothing: write the resources of containers under spec")
		return
	}
	for _, p := range c.profiles() {
		if !p.ResizesAreQueued {
			n.Errorf("the kubelet of %s resizes pods by other rules, which are not simulated: write later versions "+
				"in kubernetesVersions", p.Version)
			return
		}
	}
	for _, w := range c.matching(r.Pod) {
		for _, p := range c.profiles() {
			if !n.Bad() && c.withinLimits(w, n) {
				w.checkResize(r, p, n)
			}
		}
	}
}

func (w *workload) checkResize(r *format.Resize, p profile.Profile, n *strict.Node) {
	before := w.NewPod(0)
	admission.Default(before)
	patched := merge(before, r.JSON(), n)
	if patched == nil {
		return
	}
	admission.Default(patched)
	known := map[string]bool{} // errors of the manifest, reported there
	for _, e := range admission.Validate(before) {
		known[e.Error()] = true
	}
	for _, e := range admission.ValidateResize(p, patched, before) {
		if !known[e.Error()] {
			nodeIn(n, patched, e.Field, n.Field("spec")).Errorf("%s", e.ErrorBody())
		}
	}
}
