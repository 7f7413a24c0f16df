package scenarios

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/apiserver"
	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/trace"
)

// PatchPod patches pods through the API.
type PatchPod struct {
	Pod      string                   `json:"pod,omitempty"` // as in Delete
	Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
	Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
	Status   *part[v1.PodStatus]      `json:"status,omitempty"`

	text string // as written
}

// part is a part of a strategic merge patch that patches a T.
type part[T any] struct{ node *strict.Node }

// UnmarshalNode checks the patch against the type that it patches and keeps it.
func (p *part[T]) UnmarshalNode(n *strict.Node) {
	p.node = n
	var patched T
	n.Ignore(isDirective)
	strict.Decode(n, &patched)
}

// Patched returns a value of the type that is patched, for documentation.
func (part[T]) Patched() any {
	var patched T
	return patched
}

func (p *part[T]) MarshalJSON() ([]byte, error) { return p.node.JSON(), nil }

// json returns the patch as it goes to the API server.
func (p *PatchPod) json() []byte {
	data, err := json.Marshal(struct {
		Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
		Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
		Status   *part[v1.PodStatus]      `json:"status,omitempty"`
	}{p.Metadata, p.Spec, p.Status})
	if err != nil {
		panic(err) // its parts are JSON
	}
	return data
}

func (p *PatchPod) target() string { return p.Pod }

func (p *PatchPod) name() string { return "patch" }

// check applies the patch to the pods as they are at first: what other patches change is nothing that this one
// could run into.
func (p *PatchPod) check(c *checker, n *strict.Node) {
	p.text = n.Text()
	c.checkTarget(p.Pod, n)
	switch {
	case n.Bad():
	case p.Metadata == nil && p.Spec == nil && p.Status == nil:
		n.Errorf("changes nothing: write metadata, spec or status")
	case p.Status != nil && (p.Metadata != nil || p.Spec != nil):
		n.Errorf("patches the status and more: the API takes the status by itself, so write a step for each")
	case p.Status != nil:
		p.checkStatus(n)
		return
	}
	for _, w := range c.scenario.workloads {
		if _, count := w.named(p.Pod); count > 0 && !n.Bad() && c.affordable(w.manifest, n) {
			p.checkPod(w, n)
		}
	}
}

func (p *PatchPod) checkPod(w *workload, n *strict.Node) {
	patched, err := apiserver.Merge(w.pod, p.json())
	if err != nil {
		n.Errorf("cannot be applied: %s", err)
		return
	}
	for _, e := range admission.ValidateUpdate(patched, w.pod) {
		at := n
		if written, _ := findInPod(n, patched, e.Field); written.Written() {
			at = written
		}
		at.Errorf("%s", e.ErrorBody())
	}
	for _, c := range slices.Concat(patched.Spec.InitContainers, patched.Spec.Containers) {
		if c.Image != "" && !admission.IsImage(c.Image) {
			n.Errorf("the image %s is not supported yet: its name is no reference", strict.Quote(c.Image))
		}
	}
	isNew := func(f string) bool { return !slices.Contains(w.pod.Finalizers, f) }
	if slices.ContainsFunc(patched.Finalizers, isNew) {
		n.Find("metadata.finalizers").Errorf("a new finalizer is not supported yet: those of the manifest can be taken away")
	}
}

func (p *PatchPod) do(d *Driver, _ int) bool {
	return d.eachPod(p.Pod, func(pod *PlannedPod) bool {
		cause := d.world.Record(trace.Record{Kind: trace.Step, Pod: pod.Pod.Namespace + "/" + pod.Pod.Name, Reason: p.name(), Message: p.text})
		if p.Status != nil {
			d.world.PatchPodStatus(pod.Pod.Namespace, pod.Pod.Name, p.json(), cause)
		} else {
			d.world.PatchPod(pod.Pod.Namespace, pod.Pod.Name, p.json(), cause)
		}
		return true
	})
}
