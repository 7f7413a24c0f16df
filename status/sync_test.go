package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

func (w *world) expect(got []string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A stored status goes to the API server at once, in a GET and a PATCH; the same status again does not
// (pkg/kubelet/status/status_manager.go, like all rules here).
func TestChangedStatusIsPatched(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, false), 0)
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Running")
	w.SetPodStatus(pod, running(pod, false), 0)
	w.expect(w.until(2 * time.Second))
	w.SetPodStatus(pod, running(pod, true), 0)
	w.expect(w.until(3*time.Second), "2s GET web", "2.01s PATCH web Running")
	other := running(pod, true)
	status.FindCondition(other, v1.PodReady).Message = "another message is a change"
	w.SetPodStatus(pod, other, 0)
	w.expect(w.until(4*time.Second), "3s GET web", "3.01s PATCH web Running")
	if s := w.api["web"].Status; conditionIs(&s, v1.PodReady) != v1.ConditionTrue || !s.ContainerStatuses[0].Ready {
		t.Errorf("the API has %+v", s)
	}
}

// A patch has the cause of the status that it brings, or of one before it that changed Ready and was never sent.
func TestCauseOfAPatch(t *testing.T) {
	w := newWorld(t)
	w.latency = time.Second
	pod := w.pod("web")
	another := running(pod, true)
	status.FindCondition(another, v1.PodReady).Message = "another message is a change"
	set := func(at time.Duration, s *v1.PodStatus, cause int64) {
		w.sim.At(at, "set", func() { w.SetPodStatus(pod, s, cause) })
	}
	set(0, running(pod, false), 1)
	set(500*time.Millisecond, running(pod, true), 2)
	set(600*time.Millisecond, another, 3)
	set(5*time.Second, running(pod, true), 4) // what changed Ready has been sent
	w.until(9 * time.Second)
	if diff := cmp.Diff([]int64{1, 2, 4}, w.causes); diff != "" {
		t.Errorf("causes of the patches (-want +got):\n%s", diff)
	}
}

// While the process is busy statuses pile up; it sends the newest of each pod and none in between (B55), one
// pod after the other.
func TestVersionsInBetweenAreNotSent(t *testing.T) {
	w := newWorld(t)
	w.latency = time.Second
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, false), 0)
	for i := range 5 {
		w.sim.At(500*time.Millisecond, "set", func() {
			w.SetPodStatus(b, running(b, i%2 == 0), 0)
			w.SetPodStatus(a, running(a, i%2 == 0), 0)
		})
	}
	w.expect(w.until(9*time.Second), "0s GET a", "1s PATCH a Running",
		"2s GET b", "3s PATCH b Running", "4s GET a", "5s PATCH a Running")
	for _, pod := range []*v1.Pod{a, b} {
		if !w.api[pod.Name].Status.ContainerStatuses[0].Ready {
			t.Errorf("%s is not ready in the API, the last status says it is", pod.Name)
		}
	}
}

// A status that the API has already is looked at and not patched.
func TestStatusThatTheAPIHasIsNotPatched(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true), 0)
	w.until(time.Second)
	w.SetPodStatus(pod, running(pod, false), 0)
	w.SetPodStatus(pod, running(pod, true), 0)
	w.change(w.api["web"], func(p *v1.Pod) { p.Status = *w.cached(pod) })
	w.expect(w.until(2*time.Second), "1s GET web")
}

// Every ten seconds statuses are compared with what the kubelet heard from the API, and sent again if they
// differ.
func TestEveryTenSecondsTheAPIIsReconciled(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true), 0)
	w.expect(w.until(9*time.Second), "0s GET web", "10ms PATCH web Running")
	w.expect(w.until(19 * time.Second)) // at 10 s there is nothing to do
	w.change(w.api["web"], func(p *v1.Pod) { p.Status.Phase = v1.PodPending })
	w.expect(w.until(39*time.Second), "20s GET web", "20.01s PATCH web Running")
}

// A difference that could not be mended is tried again as soon as there is any other status to send.
func TestFailedReconcileIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, true), 0)
	w.until(5 * time.Second)
	changed := w.change(w.api["a"], func(p *v1.Pod) { p.Status.Phase = v1.PodPending })
	delete(w.api, "a")
	w.expect(w.until(11*time.Second), "10s GET a")
	w.store(changed)
	w.SetPodStatus(b, running(b, true), 0)
	w.expect(w.until(12*time.Second), "11s GET a", "11.01s PATCH a Running", "11.02s GET b", "11.03s PATCH b Running")
}

// A kubelet that has not heard of its own patch sends it again, and finds that it need not.
func TestReconcileGoesByWhatTheKubeletHeard(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.deaf = true
	w.SetPodStatus(pod, running(pod, true), 0)
	w.expect(w.until(25*time.Second), "0s GET web", "10ms PATCH web Running", "10s GET web", "20s GET web")
}

// A pod that the API does not have is tried once in each batch until its status is forgotten.
func TestPodThatTheAPIDoesNotHave(t *testing.T) {
	w := newWorld(t)
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(b, running(b, false), 0)
	w.until(time.Second)
	delete(w.api, "a")
	w.SetPodStatus(a, running(a, false), 0)
	w.sim.At(1005*time.Millisecond, "set", func() { w.SetPodStatus(a, running(a, true), 0) }) // during the GET
	w.expect(w.until(2*time.Second), "1s GET a", "1.01s GET a")
	w.SetPodStatus(b, running(b, true), 0)
	w.expect(w.until(3*time.Second), "2s GET a", "2.01s GET b", "2.02s PATCH b Running")
	w.expect(w.until(11*time.Second), "10s GET a")
	w.remove(a)
	w.RemoveOrphanedStatuses(func(uid types.UID) bool { return uid == b.UID })
	if _, ok := w.GetPodStatus(a.UID); ok {
		t.Error("the status of a pod that is gone is still there")
	}
	w.expect(w.until(30 * time.Second))
}

// Another pod of the same name is not touched, and the status of the old one is forgotten.
func TestPodOfTheSameName(t *testing.T) {
	w := newWorld(t)
	old := w.pod("web")
	w.SetPodStatus(old, running(old, true), 0)
	w.change(old, func(p *v1.Pod) { p.UID = "another" })
	w.expect(w.until(30*time.Second), "0s GET web")
	if _, ok := w.GetPodStatus(old.UID); ok {
		t.Error("the status of the old pod is still there")
	}
}

// A pod that was to be deleted is removed when it has come to its end, in the kubelet and in the API.
func TestFinishedPodIsDeleted(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true), 0)
	w.until(time.Second)
	pod = w.change(w.api["web"], func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.SetPodStatus(pod, exited(pod, 0), 0)
	w.expect(w.until(2*time.Second), "1s GET web", "1.01s PATCH web Succeeded")
	w.TerminatePod(pod, 0)
	w.expect(w.until(30*time.Second), "2s GET web", "2.01s DELETE web")
	if _, ok := w.GetPodStatus(pod.UID); ok {
		t.Error("the status of a deleted pod is still there")
	}
}

// What is finished stays finished, whatever status comes after.
func TestFinishedStaysFinished(t *testing.T) {
	w := newWorld(t)
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.TerminatePod(pod, 0)
	w.SetPodStatus(pod, exited(pod, 0), 0)
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Succeeded", "20ms DELETE web")
}

// A finished pod whose terminal phase is held back is not deleted before the API has the phase.
func TestDeleteWaitsForTheTerminalPhase(t *testing.T) {
	w := newWorld(t)
	w.running = true
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.SetPodStatus(pod, exited(pod, 0), 0)
	w.TerminatePod(pod, 0)
	w.expect(w.until(9*time.Second), "0s GET web", "10ms PATCH web Pending")
	w.running = false
	w.expect(w.until(30*time.Second), "10s GET web", "10.01s PATCH web Succeeded", "10.02s DELETE web")
}

// A pod that ended by itself and is deleted later is found by the pass of ten seconds.
func TestFinishedPodIsDeletedLater(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, exited(pod, 1), 0)
	w.TerminatePod(pod, 0)
	w.expect(w.until(15*time.Second), "0s GET web", "10ms PATCH web Failed")
	w.change(w.api["web"], func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.expect(w.until(30*time.Second), "20s GET web", "20.01s DELETE web")
}

// While the API server is down a status waits for the next one of any pod, and for the pass of ten seconds.
func TestFailedCallsAreTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.down = map[string]bool{"GET": true}
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, false), 0)
	w.expect(w.until(5*time.Second), "0s GET a")
	w.SetPodStatus(b, running(b, false), 0)
	w.expect(w.until(15*time.Second), "5s GET a", "5.01s GET b", "10s GET a", "10.01s GET b")
	w.down = map[string]bool{"PATCH": true}
	w.expect(w.until(25*time.Second), "20s GET a", "20.01s PATCH a Running", "20.02s GET b", "20.03s PATCH b Running")
	w.down = nil
	w.expect(w.until(45*time.Second), "30s GET a", "30.01s PATCH a Running", "30.02s GET b", "30.03s PATCH b Running")
}

// A DELETE that fails is tried again by the pass of ten seconds alone: the status is there already.
func TestFailedDeleteIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.down = map[string]bool{"DELETE": true}
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.TerminatePod(pod, 0)
	w.expect(w.until(5*time.Second), "0s GET web", "10ms PATCH web Failed", "20ms DELETE web")
	other := w.pod("other")
	w.SetPodStatus(other, running(other, false), 0)
	w.expect(w.until(15*time.Second), "5s GET other", "5.01s PATCH other Running", "10s GET web", "10.01s DELETE web")
	w.down = nil
	w.expect(w.until(45*time.Second), "20s GET web", "20.01s DELETE web")
}

// As long as containers could be running the API does not see a terminal phase.
func TestTerminalPhaseIsHeldBack(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true), 0)
	w.until(time.Second)
	w.running = true
	failed := running(pod, true)
	failed.Phase, failed.Reason = v1.PodFailed, "Evicted"
	w.SetPodStatus(pod, failed, 0)
	w.expect(w.until(9*time.Second), "1s GET web") // nothing but the phase would change
	if s := w.api["web"].Status; s.Phase != v1.PodRunning || s.Reason != "" {
		t.Errorf("the API has phase %s, reason %q", s.Phase, s.Reason)
	}
	w.running = false
	w.expect(w.until(19*time.Second), "10s GET web", "10.01s PATCH web Failed")
}

// From one terminal phase to another there is nothing to hold back.
func TestOtherTerminalPhaseIsNotHeldBack(t *testing.T) {
	w := newWorld(t)
	w.running = true
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
	w.SetPodStatus(pod, exited(pod, 0), 0)
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Succeeded")
}

// With a terminal phase nothing is ready, whatever the status says (B44).
func TestTerminalPhaseIsNeverReady(t *testing.T) {
	for phase, reason := range map[v1.PodPhase]string{v1.PodSucceeded: "PodCompleted", v1.PodFailed: "PodFailed"} {
		w := newWorld(t)
		pod := w.pod("web")
		w.SetPodStatus(pod, running(pod, true), 0)
		w.until(5 * time.Second)
		s := running(pod, true)
		s.Phase = phase
		w.SetPodStatus(pod, s, 0)
		w.until(6 * time.Second)
		api := w.api["web"].Status
		for _, typ := range []v1.PodConditionType{v1.PodReady, v1.ContainersReady} {
			if c := status.FindCondition(&api, typ); c.Status != v1.ConditionFalse || c.Reason != reason || c.LastTransitionTime.Second() != 5 {
				t.Errorf("%s: %s is %s for %s since %v, want False for %s since second 5", phase, typ, c.Status, c.Reason, c.LastTransitionTime, reason)
			}
		}
	}
}

// Conditions that belong to somebody else are left alone.
func TestConditionsOfOthersAreKept(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.change(pod, func(p *v1.Pod) {
		p.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionFalse}}
	})
	w.SetPodStatus(pod, running(pod, true), 0)
	w.until(time.Second)
	api := w.api["web"].Status
	if conditionIs(&api, "example.com/gate") != v1.ConditionTrue || conditionIs(&api, v1.PodReady) != v1.ConditionTrue || len(api.Conditions) != 4 {
		t.Errorf("conditions %v", api.Conditions)
	}
}
