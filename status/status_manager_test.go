package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// The stored status has times in whole seconds, as the API server keeps them, and containers in the
// order of their names.
func TestStatusIsNormalized(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	later := metav1.NewTime(start.Add(1500 * time.Millisecond))
	w.SetPodStatus(pod, &v1.PodStatus{
		Phase:      v1.PodRunning,
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{
			{Name: "b", State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: later}}},
			{Name: "a", LastTerminationState: v1.ContainerState{
				Terminated: &v1.ContainerStateTerminated{StartedAt: later, FinishedAt: later}}},
		},
	})
	s := w.cached(pod)
	a, b := s.ContainerStatuses[0], s.ContainerStatuses[1]
	if a.Name != "a" || b.Name != "b" {
		t.Errorf("containers in the order %s, %s, want a, b", a.Name, b.Name)
	}
	second := start.Truncate(time.Second)
	for what, got := range map[string][2]time.Time{
		"the pod's start":            {s.StartTime.Time, second},
		"a condition's transition":   {s.Conditions[0].LastTransitionTime.Time, second},
		"a container's start":        {b.State.Running.StartedAt.Time, second.Add(time.Second)},
		"a container's end":          {a.LastTerminationState.Terminated.FinishedAt.Time, second.Add(time.Second)},
		"an ended container's start": {a.LastTerminationState.Terminated.StartedAt.Time, second.Add(time.Second)},
	} {
		if !got[0].Equal(got[1]) {
			t.Errorf("%s is %v, want %v", what, got[0], got[1])
		}
	}
	if later.Nanosecond() == 0 {
		t.Error("the manager changed the time of the caller")
	}
}

// lastTransitionTime changes with the status of a condition, and not with its reason or message.
// The pod's start time never changes.
func TestLastTransitionTime(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	at := func(seconds time.Duration, ready bool, reason string) int {
		w.until(seconds * time.Second)
		s := running(pod, ready)
		c := status.FindCondition(s, v1.PodReady)
		c.Reason = reason
		w.SetPodStatus(pod, s)
		c = status.FindCondition(w.cached(pod), v1.PodReady)
		if c.Reason != reason {
			t.Errorf("the reason at %d s is %q, want %q", seconds, c.Reason, reason)
		}
		return int(c.LastTransitionTime.Sub(start.Truncate(time.Second)).Seconds())
	}
	got := []int{at(1, false, "a"), at(2, false, "b"), at(3, true, ""), at(4, true, "c"), at(5, false, "a")}
	if diff := cmp.Diff([]int{1, 1, 3, 3, 5}, got); diff != "" {
		t.Errorf("seconds of the last transition (-want +got):\n%s", diff)
	}
	if s := w.cached(pod).StartTime.Second(); s != 1 {
		t.Errorf("the pod's start is at second %d, want 1, the time of the first stored status", s)
	}
}

// Every stored status of a pod with a deletion timestamp is synced, changed or not: the API may be
// able to delete the pod.
func TestUnchangedStatusOfADeletedPodIsSynced(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	pod = w.change(w.api["web"], func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.SetPodStatus(pod, running(pod, true))
	w.expect(w.until(2*time.Second), "1s GET web")
}

// The manager drops a status in which a container that must not restart leaves its terminated
// state.
func TestIllegalTransitions(t *testing.T) {
	for _, c := range []struct {
		policy v1.RestartPolicy
		code   int32
		legal  bool
	}{
		{v1.RestartPolicyAlways, 0, true}, {v1.RestartPolicyAlways, 1, true},
		{v1.RestartPolicyOnFailure, 0, false}, {v1.RestartPolicyOnFailure, 1, true},
		{v1.RestartPolicyNever, 0, false}, {v1.RestartPolicyNever, 1, false},
	} {
		t.Run(fmt.Sprintf("%s exit %d", c.policy, c.code), func(t *testing.T) {
			w := newWorld(t)
			pod := w.change(w.pod("web"), func(p *v1.Pod) { p.Spec.RestartPolicy = c.policy })
			w.SetPodStatus(pod, exited(pod, c.code))
			again := running(pod, false)
			again.ContainerStatuses[0].RestartCount = 1
			w.SetPodStatus(pod, again)
			if got := w.cached(pod).ContainerStatuses[0].State.Running != nil; got != c.legal {
				t.Errorf("the container runs again: %v, want %v", got, c.legal)
			}
			w.SetPodStatus(pod, &v1.PodStatus{Phase: v1.PodRunning})
			if n := len(w.cached(pod).ContainerStatuses); n != 0 {
				t.Error("the manager dropped a status without the container")
			}
		})
	}
}

// SetContainerReadiness changes the container and its pod's Ready and ContainersReady conditions,
// without a sync of the pod.
func TestSetContainerReadiness(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, false))
	before := w.cached(pod)
	w.until(2 * time.Second)

	w.SetContainerReadiness(pod.UID, "id of web", false) // unchanged
	w.SetContainerReadiness(pod.UID, "id of another", true)
	w.SetContainerReadiness("uid of another", "id of web", true)
	if w.cached(pod) != before {
		t.Error("the manager stored a status without a change")
	}
	w.SetContainerReadiness(pod.UID, "id of web", true)
	after := w.cached(pod)
	if !after.ContainerStatuses[0].Ready || conditionIs(after, v1.PodReady) != v1.ConditionTrue ||
		conditionIs(after, v1.ContainersReady) != v1.ConditionTrue {
		t.Errorf("got %+v", after)
	}
	if before.ContainerStatuses[0].Ready {
		t.Error("the manager changed a stored status")
	}
	if got := status.FindCondition(after, v1.PodReady).LastTransitionTime.Second(); got != 2 {
		t.Errorf("ready since second %d, want 2", got)
	}
	w.expect(w.until(3*time.Second), "2s GET web", "2.01s PATCH web Running")
}

// SetContainerStartup changes Started and nothing else: a ready pod stays ready until its next
// sync.
func TestSetContainerStartup(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	before := w.cached(pod)
	for _, started := range []bool{true, false} {
		w.SetContainerStartup(pod.UID, "id of web", started)
		after := w.cached(pod).DeepCopy()
		if c := &after.ContainerStatuses[0]; c.Started == nil || *c.Started != started {
			t.Errorf("started is %v, want %v", c.Started, started)
		}
		after.ContainerStatuses[0].Started = nil
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("SetContainerStartup changed more than Started (-before +after):\n%s", diff)
		}
	}
	known := w.cached(pod)
	w.SetContainerStartup(pod.UID, "id of web", false) // unchanged
	w.SetContainerStartup(pod.UID, "id of another", true)
	w.SetContainerStartup("uid of another", "id of web", true)
	if w.cached(pod) != known {
		t.Error("the manager stored a status without a change")
	}
}

// TerminatePod marks all containers as terminated and sets a terminal phase.
func TestTerminatePod(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	s := exited(pod, 0)
	s.Phase = v1.PodRunning
	s.ContainerStatuses = append(s.ContainerStatuses, v1.ContainerStatus{
		Name: "lost", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	})
	w.SetPodStatus(pod, s)
	w.TerminatePod(pod)
	got := w.cached(pod)
	if got.Phase != v1.PodFailed || got.ContainerStatuses[0].State.Terminated.ExitCode != 0 {
		t.Errorf("got %+v", got)
	}
	want := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
		ExitCode: 137,
	}}
	if diff := cmp.Diff(want, got.ContainerStatuses[1].State); diff != "" {
		t.Errorf("lost container (-want +got):\n%s", diff)
	}
}

// TerminatePod starts from the API's status if none is stored.
func TestTerminatePodWithoutAStoredStatus(t *testing.T) {
	w := newWorld(t)
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.Status = *running(p, true) })
	w.TerminatePod(pod)
	if s := w.cached(pod); s.Phase != v1.PodFailed || s.ContainerStatuses[0].State.Terminated == nil {
		t.Errorf("got %+v", s)
	}
}

// RemoveOrphanedStatuses forgets the statuses of unknown pods only.
func TestRemoveOrphanedStatuses(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		pod := w.pod(name)
		w.SetPodStatus(pod, running(pod, true))
	}
	w.RemoveOrphanedStatuses(func(uid types.UID) bool { return uid == "uid of b" })
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, ok := w.GetPodStatus(types.UID("uid of " + name)); ok != (name == "b") {
			t.Errorf("the status of %s is stored: %v, want %v", name, ok, name == "b")
		}
	}
	w.expect(w.until(time.Second), "0s GET b", "10ms PATCH b Running")
}
