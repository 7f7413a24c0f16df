package status_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/status"
)

// A pod with readiness gates is Ready when its containers are and all conditions that the gates name are True
// (GeneratePodReadyCondition in pkg/kubelet/status/generate.go).
func TestReadinessGates(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "app"}}, ReadinessGates: []v1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}},
	}}
	is := func(t v1.PodConditionType, s v1.ConditionStatus) v1.PodCondition {
		return v1.PodCondition{Type: t, Status: s}
	}
	const missing, unready = `corresponding condition of pod readiness gate "a" does not exist.`, "containers with unready status: [app]"
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
			t.Errorf("%s, %v: %s %s %q, want %s %q", c.app, c.conditions, got.Status, got.Reason, got.Message, c.reason, c.message)
		}
		if ready := status.GenerateContainersReadyCondition(pod, statusesOf(c.app), v1.PodRunning); (ready.Status == v1.ConditionTrue) != (c.message != unready) {
			t.Errorf("%s: ContainersReady is %s", c.app, ready.Status)
		}
	}
}

// A status from the API whose Ready does not follow from the rest of it has the pod synced, if it has readiness
// gates. The sidecar of a pod counts as unknown there (NeedToReconcilePodReadiness in status_manager.go).
func TestNeedToReconcilePodReadiness(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(*v1.Pod)
		want bool
	}{
		{"as it should be", func(*v1.Pod) {}, false},
		{"a gate has opened", func(p *v1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "a", Status: v1.ConditionTrue})
		}, true},
		{"no Ready yet", func(p *v1.Pod) { p.Status.Conditions = nil }, false},
		{"a sidecar", func(p *v1.Pod) { p.Spec.InitContainers = initPod().Spec.InitContainers }, true},
		{"no gates", func(p *v1.Pod) { p.Spec.ReadinessGates = nil }, false},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "app"}}, ReadinessGates: []v1.PodReadinessGate{{ConditionType: "a"}},
		}}
		pod.Status.Phase, pod.Status.ContainerStatuses = v1.PodRunning, statusesOf("app running ready")
		pod.Status.Conditions = []v1.PodCondition{status.GeneratePodReadyCondition(pod, nil, pod.Status.ContainerStatuses, v1.PodRunning)}
		c.with(pod)
		if got := status.NeedToReconcilePodReadiness(pod); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Conditions of others make no status of the kubelet's different.
func TestForeignConditionsAreNoChange(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true), 0)
	w.until(w.sim.Now())
	s := running(pod, true)
	s.Conditions = append(s.Conditions, v1.PodCondition{Type: "a", Status: v1.ConditionTrue})
	w.SetPodStatus(pod, s, 0)
	if c := status.FindCondition(w.cached(pod), "a"); c != nil {
		t.Error("a condition of somebody else was taken for a change")
	}
}
