package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/fakeruntime"
)

// The events of a container depend on its states in two lists. A created container is in an unknown
// state (generateEvents in pkg/kubelet/pleg/generic.go at v1.37.0).
func TestGenerateEvents(t *testing.T) {
	pod := func(state fakeruntime.ContainerState) *runtimePod {
		if state == "" {
			return &runtimePod{}
		}
		return &runtimePod{containers: []fakeruntime.Container{{ID: "c", State: state}}}
	}
	const none, created, running, exited = "", fakeruntime.Created, fakeruntime.Running, fakeruntime.Exited
	for _, c := range []struct {
		from, to fakeruntime.ContainerState
		want     []plegEventType
	}{
		{none, created, []plegEventType{containerChanged}},
		{none, running, []plegEventType{containerStarted}},
		{none, exited, []plegEventType{containerDied}}, // started and exited between two relists
		{created, running, []plegEventType{containerStarted}},
		{created, exited, []plegEventType{containerDied}},
		{running, running, nil},
		{running, exited, []plegEventType{containerDied}},
		{running, none, []plegEventType{containerDied, containerRemoved}},
		{created, none, []plegEventType{containerDied, containerRemoved}},
		{exited, none, []plegEventType{containerRemoved}},
		{exited, running, []plegEventType{containerStarted}},
	} {
		var want []plegEvent
		for _, typ := range c.want {
			want = append(want, plegEvent{"uid", typ, "c"})
		}
		got := computeEvents("uid", pod(c.from), pod(c.to))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(plegEvent{})); diff != "" {
			t.Errorf("from %q to %q (-want +got):\n%s", c.from, c.to, diff)
		}
	}
}

// The events of a pod are in the order of the old list, containers before sandboxes, followed by
// the new ones. A sandbox that is not ready counts as exited.
func TestComputeEventsOrder(t *testing.T) {
	old := &runtimePod{
		containers: []fakeruntime.Container{{ID: "c2", State: fakeruntime.Running},
			{ID: "c1", State: fakeruntime.Exited}},
		sandboxes: []fakeruntime.Sandbox{{ID: "s1", Ready: true}},
	}
	current := &runtimePod{
		containers: []fakeruntime.Container{{ID: "c3", State: fakeruntime.Running},
			{ID: "c2", State: fakeruntime.Exited}},
		sandboxes: []fakeruntime.Sandbox{{ID: "s2", Ready: true}, {ID: "s1"}},
	}
	want := []plegEvent{
		{"uid", containerDied, "c2"}, {"uid", containerRemoved, "c1"}, {"uid", containerDied, "s1"},
		{"uid", containerStarted, "c3"}, {"uid", containerStarted, "s2"},
	}
	if diff := cmp.Diff(want, computeEvents("uid", old, current), cmp.AllowUnexported(plegEvent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := computeEvents("uid", nil, nil); got != nil {
		t.Errorf("got %v for a pod in neither list, want no events", got)
	}
}
