package check

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Admitted is a pod as the API server of a version stores it.
type Admitted struct{ workloads.Admitted }

// Admit returns the first pod that an object creates. The error says why the API server or a node
// would reject it.
func Admit(object manifests.APIObject, p profile.Profile) (*Admitted, error) {
	if pod, is := object.(*v1.Pod); is {
		object = withImages(pod)
	}
	admitted, err := workloads.Admit(object, p)
	if err != nil {
		return nil, err
	}
	return &Admitted{*admitted}, nil
}

// withImages returns a pod in which an image that is no reference, such as one that a build fills
// in, has another name: no figure depends on it.
func withImages(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, c := range unknownImages(pod) {
		c.Image = "unknown"
	}
	return pod
}

// unknownImages returns the containers of a pod whose image is no reference.
func unknownImages(pod *v1.Pod) (list []*v1.Container) {
	for c := range podutil.Containers(&pod.Spec) {
		if !admission.IsImage(c.Image) {
			list = append(list, c)
		}
	}
	return list
}

// Run makes a run of a node, which begin adds the pod to, up to the first record for which over
// returns true, at most until a time.
func (a *Admitted) Run(o node.Options, begin func(*node.Node), until time.Duration,
	over func(*node.Node, *trace.Record) bool) error {
	n := node.New(o)
	defer n.Close()
	ended := false
	n.Observe(func(r *trace.Record) {
		if !ended && over(n, r) {
			ended = true
			n.Pause()
		}
	})
	n.At(0, func() { begin(n) })
	return n.RunUntil(virtual.At(until))
}

// Bounds returns a container of the pod on nodes with some delays.
func (a *Admitted) Bounds(container string, delays fakeruntime.Delays) (*bounds.Container, error) {
	return bounds.Of(bounds.Settings{Pod: a.Pod, Programs: a.Programs, Container: container, Profile: a.Profile,
		Delays: delays})
}
