package check

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Admitted is a pod as the API server of a version stores it, with its defaults, but without its
// activeDeadlineSeconds: the figures are those of a pod that is not at its deadline.
type Admitted struct {
	Pod      *v1.Pod
	Programs fakeruntime.Pod // of healthy containers
	Profile  profile.Profile
}

// Admit returns the first pod that an object creates, such as a Pod or a Deployment. The error says
// why the API server or a node would reject it.
func Admit(object manifests.APIObject, p profile.Profile) (*Admitted, error) {
	planned, err := scenarios.Compile(object, nil, scenarios.CompileOptions{Profile: p})
	switch {
	case err != nil:
		return nil, err
	case len(planned) == 0:
		return nil, fmt.Errorf("%s creates no pods", object.GetName())
	}
	n := node.New(node.Options{Profile: p})
	defer n.Close()
	if err := n.AddPod(planned[0].Pod, planned[0].Program); err != nil {
		return nil, err
	}
	pod, err := admission.Admit(p, planned[0].Pod)
	if err != nil {
		return nil, err
	}
	pod.Spec.ActiveDeadlineSeconds = nil
	return &Admitted{pod, planned[0].Program, p}, nil
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
