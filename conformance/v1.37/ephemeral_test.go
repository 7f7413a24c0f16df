package main

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"probesim.dev/internal/world/apiserver/admission"
)

// TestEphemeralContainers checks that package admission gives random ephemeral containers the same
// defaults as the API server, and reports the same errors.
func TestEphemeralContainers(t *testing.T) {
	added := 0
	for seed := range uint64(6000) {
		pod := newRandomPods(seed).pod()
		admission.Default(pod)
		if len(upstreamErrors(t, pod)) > 0 {
			continue
		}
		c := randomEphemeral(pod, seed)
		theirs := pod.DeepCopy()
		theirs.Spec.EphemeralContainers = []v1.EphemeralContainer{*c.DeepCopy()}
		corev1.SetObjectDefaults_Pod(theirs)
		admission.DefaultEphemeral(c)
		if diff := cmp.Diff(&theirs.Spec.EphemeralContainers[0], c); diff != "" && c.LivenessProbe == nil &&
			c.ReadinessProbe == nil && c.StartupProbe == nil {
			t.Errorf("seed %d: defaults (- API server, + admission):\n%s", seed, diff)
		}
		var got []string
		for _, err := range admission.ValidateEphemeral(pod, c, field.NewPath("spec", "ephemeralContainers").Index(0)) {
			got = append(got, err.Error())
		}
		want := ephemeralErrors(t, theirs, pod)
		if diff := cmp.Diff(want, comparable(got)); diff != "" {
			t.Errorf("seed %d: errors (- API server, + admission):\n%s", seed, diff)
		}
		if len(want) == 0 {
			added++
		}
	}
	if added < 50 {
		t.Errorf("only %d of the containers are valid", added)
	}
}

// randomEphemeral returns a container of another random pod as an ephemeral container of the pod.
// It often has a field that an ephemeral container cannot have, or the name of another container.
func randomEphemeral(pod *v1.Pod, seed uint64) *v1.EphemeralContainer {
	draw := rand.New(rand.NewPCG(seed, 0))
	c := &v1.Container{Image: "busybox"}
	if list := newRandomPods(seed + 1e6).pod().Spec.Containers; len(list) > 0 {
		c = &list[0]
	}
	c.VolumeMounts, c.VolumeDevices = nil, nil // package admission does not check them
	if draw.IntN(3) > 0 {
		c.Name = "debugger"
	}
	if draw.IntN(3) > 0 {
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle, c.Ports = nil, nil, nil, nil, nil
	}
	if draw.IntN(3) > 0 {
		c.RestartPolicy, c.RestartPolicyRules, c.ResizePolicy, c.Resources = nil, nil, nil, v1.ResourceRequirements{}
	}
	e := &v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon(*c)}
	e.TargetContainerName = []string{"", "", pod.Spec.Containers[0].Name, "debugger"}[draw.IntN(4)]
	return e
}

// ephemeralErrors returns the errors with which the API server rejects the update of old to pod.
func ephemeralErrors(t *testing.T, pod, old *v1.Pod) []string {
	t.Helper()
	pod.ResourceVersion, old.ResourceVersion = "1", "1"
	after, before := internal(t, pod), internal(t, old)
	o := podutil.GetValidationOptionsFromPodSpecAndMeta(&after.Spec, &before.Spec, &after.ObjectMeta,
		&before.ObjectMeta)
	o.ResourceIsPod = true
	var list []string
	for _, err := range validation.ValidatePodEphemeralContainersUpdate(after, before, o) {
		list = append(list, err.Error())
	}
	return comparable(list)
}
