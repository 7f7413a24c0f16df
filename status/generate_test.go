package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/status"
)

// Ready and ContainersReady of a pod follow from its containers (pkg/kubelet/status/generate.go).
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
		{"no statuses yet", nil, v1.PodPending, v1.ConditionFalse, "UnknownContainerStatuses", ""},
		{"all ready", of(true, true), v1.PodRunning, v1.ConditionTrue, "", ""},
		{"one unready", of(true, false), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady",
			"containers with unready status: [b]"},
		{"both unready", of(false, false), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady",
			"containers with unready status: [a b]"},
		{"one unknown", of(true), v1.PodRunning, v1.ConditionFalse, "ContainersNotReady",
			"containers with unknown status: [b]"},
		{
			"one unknown, one unready", of(false), v1.PodPending, v1.ConditionFalse, "ContainersNotReady",
			"containers with unknown status: [b], containers with unready status: [a]",
		},
		{"succeeded", of(true, true), v1.PodSucceeded, v1.ConditionFalse, "PodCompleted", ""},
		{"succeeded, one unknown", of(true), v1.PodSucceeded, v1.ConditionFalse, "ContainersNotReady",
			"containers with unknown status: [b]"},
		{"failed", of(true), v1.PodFailed, v1.ConditionFalse, "PodFailed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := v1.PodCondition{Type: v1.ContainersReady, ObservedGeneration: 3, Status: c.want, Reason: c.reason,
				Message: c.message}
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
	for phase, reason := range map[v1.PodPhase]string{v1.PodPending: "", v1.PodFailed: "",
		v1.PodSucceeded: "PodCompleted"} {
		if c := status.GeneratePodInitializedCondition(pod, nil, nil, phase); c.Status != v1.ConditionTrue ||
			c.Reason != reason {
			t.Errorf("%s: %s with reason %q, want True with reason %q", phase, c.Status, c.Reason, reason)
		}
	}
}

// A pod with readiness gates is Ready when its containers are ready and the conditions of all gates
// are True (GeneratePodReadyCondition in pkg/kubelet/status/generate.go).
func TestReadinessGates(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Containers:     []v1.Container{{Name: "app"}},
		ReadinessGates: []v1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}},
	}}
	is := func(t v1.PodConditionType, s v1.ConditionStatus) v1.PodCondition {
		return v1.PodCondition{Type: t, Status: s}
	}
	const missing, unready = `corresponding condition of pod readiness gate "a" does not exist.`,
		"containers with unready status: [app]"
	for _, c := range []struct {
		app             string
		conditions      []v1.PodCondition
		reason, message string
	}{
		{"app running ready", []v1.PodCondition{is("a", "True"), is("b", "True")}, "", ""},
		{"app running ready", []v1.PodCondition{is("b", "True")}, "ReadinessGatesNotReady", missing},
		{
			"app running ready", []v1.PodCondition{is("b", "Unknown")}, "ReadinessGatesNotReady",
			missing + `, the status of pod readiness gate "b" is not "True", but Unknown`,
		},
		{"app running", nil, "ContainersNotReady", unready},
	} {
		got := status.GeneratePodReadyCondition(pod, c.conditions, statusesOf(c.app), v1.PodRunning)
		if got.Reason != c.reason || got.Message != c.message || (got.Status == v1.ConditionTrue) != (c.reason == "") {
			t.Errorf("%s, %v: %s %s %q, want %s %q", c.app, c.conditions, got.Status, got.Reason, got.Message, c.reason,
				c.message)
		}
		if ready := status.GenerateContainersReadyCondition(pod, statusesOf(c.app),
			v1.PodRunning); (ready.Status == v1.ConditionTrue) != (c.message != unready) {
			t.Errorf("%s: ContainersReady is %s", c.app, ready.Status)
		}
	}
}

// A pod with readiness gates needs a reconcile if its Ready condition in the API does not match the
// rest of its status. A sidecar counts as unknown (NeedToReconcilePodReadiness in
// pkg/kubelet/status/status_manager.go).
func TestNeedToReconcilePodReadiness(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*v1.Pod)
		want bool
	}{
		{"Ready matches", func(*v1.Pod) {}, false},
		{"a gate is True now", func(p *v1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "a", Status: v1.ConditionTrue})
		}, true},
		{"no Ready condition yet", func(p *v1.Pod) { p.Status.Conditions = nil }, false},
		{"with a sidecar", func(p *v1.Pod) { p.Spec.InitContainers = initPod().Spec.InitContainers }, true},
		{"without gates", func(p *v1.Pod) { p.Spec.ReadinessGates = nil }, false},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "app"}}, ReadinessGates: []v1.PodReadinessGate{{ConditionType: "a"}},
		}}
		pod.Status.Phase, pod.Status.ContainerStatuses = v1.PodRunning, statusesOf("app running ready")
		pod.Status.Conditions = []v1.PodCondition{status.GeneratePodReadyCondition(pod, nil,
			pod.Status.ContainerStatuses, v1.PodRunning)}
		c.with(pod)
		if got := status.NeedToReconcilePodReadiness(pod); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A condition that the kubelet does not own does not count as a change of the status.
func TestOtherOwnersConditionsAreNoChange(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(w.sim.Now().Offset())
	s := running(pod, true)
	s.Conditions = append(s.Conditions, v1.PodCondition{Type: "a", Status: v1.ConditionTrue})
	w.SetPodStatus(pod, s)
	if c := status.FindCondition(w.cached(pod), "a"); c != nil {
		t.Error("a condition that the kubelet does not own counts as a change")
	}
}
