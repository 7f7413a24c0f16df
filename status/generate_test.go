package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/status"
)

// The conditions that follow from the containers (pkg/kubelet/status/generate.go).
func TestReadyConditions(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	pod.Generation = 3
	of := func(ready ...bool) []v1.ContainerStatus {
		list := []v1.ContainerStatus{}
		for i, r := range ready {
			list = append(list, v1.ContainerStatus{Name: []string{"a", "b"}[i], Ready: r})
		}
		return list
	}
	for _, c := range []struct {
		name            string
		statuses        []v1.ContainerStatus
		phase           v1.PodPhase
		want            v1.ConditionStatus
		reason, message string
	}{
		{"nothing is known", nil, v1.PodPending, v1.ConditionFalse, "UnknownContainerStatuses", ""},
		{"all ready", of(true, true), v1.PodRunning, v1.ConditionTrue, "", ""},
		{"one unready", of(true, false), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady", "containers with unready status: [b]"},
		{"both unready", of(false, false), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady", "containers with unready status: [a b]"},
		{"one unknown", of(true), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady", "containers with unknown status: [b]"},
		{
			"one of each", of(false), v1.PodPending, v1.ConditionFalse, "ContainersNotReady",
			"containers with unknown status: [b], containers with unready status: [a]",
		},
		{"succeeded", of(true, true), v1.PodSucceeded, v1.ConditionFalse, "PodCompleted", ""},
		{"succeeded, one unknown", of(true), v1.PodSucceeded, v1.ConditionFalse, "ContainersNotReady", "containers with unknown status: [b]"},
		{"failed", of(true), v1.PodFailed, v1.ConditionFalse, "PodFailed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := v1.PodCondition{Type: v1.ContainersReady, ObservedGeneration: 3, Status: c.want, Reason: c.reason, Message: c.message}
			if diff := cmp.Diff(want, status.GenerateContainersReadyCondition(pod, c.statuses, c.phase)); diff != "" {
				t.Errorf("ContainersReady (-want +got):\n%s", diff)
			}
			want.Type = v1.PodReady
			if diff := cmp.Diff(want, status.GeneratePodReadyCondition(pod, nil, c.statuses, c.phase)); diff != "" {
				t.Errorf("Ready (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInitializedWithoutInitContainers(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
	for phase, reason := range map[v1.PodPhase]string{v1.PodPending: "", v1.PodFailed: "", v1.PodSucceeded: "PodCompleted"} {
		if c := status.GeneratePodInitializedCondition(pod, nil, nil, phase); c.Status != v1.ConditionTrue || c.Reason != reason {
			t.Errorf("%s: %s for %q, want True for %q", phase, c.Status, c.Reason, reason)
		}
	}
}
