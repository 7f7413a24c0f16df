package validation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/format"
)

// checkDebug reports fields that an ephemeral container cannot have. It does not consider what
// patches change before.
func (c *checker) checkDebug(d *format.Debug, n *strict.Node) {
	container := n.Field("container")
	switch {
	case n.Bad():
		return
	case !container.Written():
		container.Errorf("is required: the ephemeral container, with a name and an image")
		return
	}
	for _, w := range c.matching(d.Pod) {
		if !container.Bad() {
			w.checkDebug(d, n)
		}
	}
}

func (w *workload) checkDebug(d *format.Debug, n *strict.Node) {
	pod := w.NewPod(0)
	for _, other := range w.debugged {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, other.Container)
	}
	container := d.Container.DeepCopy()
	admission.DefaultEphemeral(container)
	for _, e := range admission.ValidateEphemeral(pod, container, field.NewPath("container")) {
		n.Find(e.Field).Errorf("%s", e.ErrorBody())
	}
	w.debugged = append(w.debugged, d)
}

// ephemeral returns the ephemeral containers that steps add to the pods of the workload.
func (c *checker) ephemeral(w *workload) []*v1.Container {
	var list []*v1.Container
	for _, s := range c.scenario.Spec.Steps {
		if s == nil || s.Debug == nil {
			continue
		}
		if w.isAny(s.Debug.Pod) {
			list = append(list, (*v1.Container)(&s.Debug.Container.EphemeralContainerCommon))
		}
	}
	return list
}
