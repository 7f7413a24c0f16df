package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

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
	known := admission.Validate(before) // errors of the manifest, reported there
	isKnown := func(e *field.Error) bool {
		return slices.ContainsFunc(known, func(k *field.Error) bool { return k.Error() == e.Error() })
	}
	report(n, patched, slices.DeleteFunc(admission.ValidateResize(p, patched, before), isKnown))
}
