package check

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
)

// Admitted is a pod as the API server of a version stores it, with its defaults, but without its activeDeadlineSeconds: the figures are those of a pod that is
// not at its deadline.
type Admitted struct {
	Pod      *v1.Pod
	Programs fakeruntime.Pod // of healthy containers
	Profile  profile.Profile
}

// Admit returns the first pod that an object creates, such as a Pod or a Deployment. The error says why the API server or a node would reject it.
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

// Bounds returns a container of the pod on nodes with some delays.
func (a *Admitted) Bounds(container string, delays fakeruntime.Delays) (*bounds.Container, error) {
	return bounds.Of(bounds.Settings{Pod: a.Pod, Programs: a.Programs, Container: container, Profile: a.Profile, Delays: delays})
}
