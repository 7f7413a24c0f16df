package scenarios

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/trace"
)

// Debug adds an ephemeral container to pods, as kubectl debug does.
type Debug struct {
	Pod       string                `json:"pod,omitempty"` // as in Delete
	Container v1.EphemeralContainer `json:"container"`

	text string // source text on one line
}

func (d *Debug) target() string { return d.Pod }

func (*Debug) name() string { return "debug" }

// check reports fields that an ephemeral container cannot have. It does not consider what patches change before.
func (d *Debug) check(c *checker, n *strict.Node) {
	d.text = n.Text()
	c.checkTarget(d.Pod, n)
	container := n.Field("container")
	switch {
	case n.Bad():
		return
	case !container.Written():
		container.Errorf("is required: the ephemeral container, with a name and an image")
		return
	}
	for _, w := range c.scenario.matching(d.Pod) {
		if !container.Bad() {
			d.checkPod(w, n)
		}
	}
	if image := container.Field("image"); !container.Bad() && !admission.IsImage(d.Container.Image) {
		image.Errorf("the image %s is not supported yet: its name is not a valid reference", strict.Quote(d.Container.Image))
	}
}

func (d *Debug) checkPod(w *workload, n *strict.Node) {
	pod := w.newPod(0)
	for _, other := range w.debugged {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, other.Container)
	}
	for _, e := range admission.ValidateEphemeral(pod, d.defaulted(), field.NewPath("container")) {
		n.Find(e.Field).Errorf("%s", e.ErrorBody())
	}
	w.debugged = append(w.debugged, d)
}

// defaulted returns the ephemeral container with the API server's defaults.
func (d *Debug) defaulted() *v1.EphemeralContainer {
	c := d.Container.DeepCopy()
	admission.DefaultEphemeral(c)
	return c
}

func (d *Debug) do(driver *Driver, _ int) bool {
	return driver.eachPod(d.Pod, func(p *PlannedPod) bool {
		if !driver.hasObject(p) {
			return false
		}
		pod := p.Pod
		driver.world.Record(trace.Record{Kind: trace.Step, Pod: pod.Namespace + "/" + pod.Name, Reason: d.name(), Message: d.text})
		return driver.check(driver.world.AddEphemeralContainer(pod.Namespace, pod.Name, *d.Container.DeepCopy(), p.Ephemeral[d.Container.Name]))
	})
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
