package status_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
)

func (w *world) expect(got []string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The manager writes a new status to the API immediately, with a GET and a PATCH. It ignores an
// unchanged status (pkg/kubelet/status/status_manager.go, as all rules in this file).
func TestChangedStatusIsPatched(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, false))
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Running")
	w.SetPodStatus(pod, running(pod, false))
	w.expect(w.until(2 * time.Second))
	w.SetPodStatus(pod, running(pod, true))
	w.expect(w.until(3*time.Second), "2s GET web", "2.01s PATCH web Running")
	other := running(pod, true)
	status.FindCondition(other, v1.PodReady).Message = "another message is a change"
	w.SetPodStatus(pod, other)
	w.expect(w.until(4*time.Second), "3s GET web", "3.01s PATCH web Running")
	if s := w.api["web"].Status; conditionIs(&s, v1.PodReady) != v1.ConditionTrue || !s.ContainerStatuses[0].Ready {
		t.Errorf("the API has %+v", s)
	}
}

// A patch has the cause of its status, or of an earlier status that changed Ready and was never
// sent.
func TestCauseOfAPatch(t *testing.T) {
	w := newWorld(t)
	w.latency = time.Second
	pod := w.pod("web")
	another := running(pod, true)
	status.FindCondition(another, v1.PodReady).Message = "another message is a change"
	set := func(at time.Duration, s *v1.PodStatus, cause int64) {
		w.sim.At(virtual.At(at), "set", func() { w.sim.WithCause(cause, func() { w.SetPodStatus(pod, s) }) })
	}
	set(0, running(pod, false), 1)
	set(500*time.Millisecond, running(pod, true), 2)
	set(600*time.Millisecond, another, 3)
	set(5*time.Second, running(pod, true), 4) // the change of Ready has been sent
	w.until(9 * time.Second)
	if diff := cmp.Diff([]int64{1, 2, 4}, w.causes); diff != "" {
		t.Errorf("causes of the patches (-want +got):\n%s", diff)
	}
}

// Statuses stored during a sync wait for its end. The next batch sends the newest status of each
// pod and skips the versions before it (B55 in scenarios/library/bugs).
func TestOnlyTheNewestVersionIsSent(t *testing.T) {
	w := newWorld(t)
	w.latency = time.Second
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, false))
	for i := range 5 {
		w.sim.At(virtual.At(500*time.Millisecond), "set", func() {
			w.SetPodStatus(b, running(b, i%2 == 0))
			w.SetPodStatus(a, running(a, i%2 == 0))
		})
	}
	w.expect(w.until(9*time.Second), "0s GET a", "1s PATCH a Running",
		"2s GET b", "3s PATCH b Running", "4s GET a", "5s PATCH a Running")
	for _, pod := range []*v1.Pod{a, b} {
		if !w.api[pod.Name].Status.ContainerStatuses[0].Ready {
			t.Errorf("%s is not ready in the API, want ready as in the last status", pod.Name)
		}
	}
}

// The manager does not patch a status that the API already has.
func TestEqualStatusIsNotPatched(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	w.SetPodStatus(pod, running(pod, false))
	w.SetPodStatus(pod, running(pod, true))
	w.change(w.api["web"], func(p *v1.Pod) { p.Status = *w.cached(pod) })
	w.expect(w.until(2*time.Second), "1s GET web")
}

// A patch also sets the order of the conditions.
func TestOrderOfConditionsIsPatched(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	w.change(w.api["web"], func(p *v1.Pod) { p.Status.Phase = v1.PodPending }) // for a full sync
	w.deaf = true
	w.change(w.api["web"], func(p *v1.Pod) { p.Status = *w.cached(pod) })
	w.expect(w.until(19*time.Second), "10s GET web")
	w.change(w.api["web"], func(p *v1.Pod) { slices.Reverse(p.Status.Conditions) })
	w.expect(w.until(29*time.Second), "20s GET web", "20.01s PATCH web Running")
}

// A full sync also compares the condition that the kubelet shares with others.
func TestFullSyncComparesTheSharedCondition(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(9 * time.Second)
	w.change(w.api["web"], func(p *v1.Pod) {
		p.Status.Conditions = append([]v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
			p.Status.Conditions...)
	})
	w.expect(w.until(19*time.Second), "10s GET web")
	w.change(w.api["web"], func(p *v1.Pod) { p.Status.Conditions[0].Type = "example.com/gate" })
	w.expect(w.until(29 * time.Second))
}

// Every ten seconds, the manager compares all statuses with the kubelet's view of the API, and
// sends those that differ.
func TestFullSyncReconciles(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.expect(w.until(9*time.Second), "0s GET web", "10ms PATCH web Running")
	w.expect(w.until(19 * time.Second)) // at 10 s there is nothing to do
	w.change(w.api["web"], func(p *v1.Pod) { p.Status.Phase = v1.PodPending })
	w.expect(w.until(39*time.Second), "20s GET web", "20.01s PATCH web Running")
}

// The manager repeats a failed reconcile as soon as there is any other status to send.
func TestFailedReconcileIsRepeated(t *testing.T) {
	w := newWorld(t)
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, true))
	w.until(5 * time.Second)
	changed := w.change(w.api["a"], func(p *v1.Pod) { p.Status.Phase = v1.PodPending })
	delete(w.api, "a")
	w.expect(w.until(11*time.Second), "10s GET a")
	w.store(changed)
	w.SetPodStatus(b, running(b, true))
	w.expect(w.until(12*time.Second), "11s GET a", "11.01s PATCH a Running", "11.02s GET b", "11.03s PATCH b Running")
}

// A reconcile compares with the last pod that the kubelet received. A kubelet that receives no
// updates tries to send its status again, and finds that the API has it.
func TestReconcileUsesTheKubeletsViewOfTheAPI(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.deaf = true
	w.SetPodStatus(pod, running(pod, true))
	w.expect(w.until(25*time.Second), "0s GET web", "10ms PATCH web Running", "10s GET web", "20s GET web")
}

// Each batch tries once to sync a pod that is missing in the API, until the kubelet removes its
// status.
func TestPodMissingInTheAPI(t *testing.T) {
	w := newWorld(t)
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(b, running(b, false))
	w.until(time.Second)
	delete(w.api, "a")
	w.SetPodStatus(a, running(a, false))
	w.sim.At(virtual.At(1005*time.Millisecond), "set", func() { w.SetPodStatus(a, running(a, true)) }) // during the GET
	w.expect(w.until(2*time.Second), "1s GET a", "1.01s GET a")
	w.SetPodStatus(b, running(b, true))
	w.expect(w.until(3*time.Second), "2s GET a", "2.01s GET b", "2.02s PATCH b Running")
	w.expect(w.until(11*time.Second), "10s GET a")
	w.remove(a)
	w.RemoveOrphanedStatuses(func(uid types.UID) bool { return uid == b.UID })
	if _, ok := w.GetPodStatus(a.UID); ok {
		t.Error("the status of a removed pod is still stored")
	}
	w.expect(w.until(30 * time.Second))
}

// The manager forgets the status of a pod if another pod has taken its name, and leaves the other
// pod alone.
func TestAnotherPodOfTheSameName(t *testing.T) {
	w := newWorld(t)
	old := w.pod("web")
	w.SetPodStatus(old, running(old, true))
	w.change(old, func(p *v1.Pod) { p.UID = "another" })
	w.expect(w.until(30*time.Second), "0s GET web")
	if _, ok := w.GetPodStatus(old.UID); ok {
		t.Error("the status of the old pod is still stored")
	}
}

// The manager deletes a pod with a deletion timestamp when the kubelet has finished it and the API
// shows a terminal phase.
func TestFinishedPodIsDeleted(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	pod = w.change(w.api["web"], func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.SetPodStatus(pod, exited(pod, 0))
	w.expect(w.until(2*time.Second), "1s GET web", "1.01s PATCH web Succeeded")
	w.TerminatePod(pod)
	w.expect(w.until(30*time.Second), "2s GET web", "2.01s DELETE web")
	if _, ok := w.GetPodStatus(pod.UID); ok {
		t.Error("the status of a deleted pod is still stored")
	}
}

// A later status does not make a finished pod unfinished.
func TestFinishedStaysFinished(t *testing.T) {
	w := newWorld(t)
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.TerminatePod(pod)
	w.SetPodStatus(pod, exited(pod, 0))
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Succeeded", "20ms DELETE web")
}

// The manager deletes a finished pod only after the API shows its terminal phase.
func TestDeleteWaitsForTheTerminalPhase(t *testing.T) {
	w := newWorld(t)
	w.running = true
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.SetPodStatus(pod, exited(pod, 0))
	w.TerminatePod(pod)
	w.expect(w.until(9*time.Second), "0s GET web", "10ms PATCH web Pending")
	w.running = false
	w.expect(w.until(30*time.Second), "10s GET web", "10.01s PATCH web Succeeded", "10.02s DELETE web")
}

// The full sync deletes a pod that terminated before it got a deletion timestamp.
func TestFinishedPodIsDeletedLater(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, exited(pod, 1))
	w.TerminatePod(pod)
	w.expect(w.until(15*time.Second), "0s GET web", "10ms PATCH web Failed")
	w.change(w.api["web"], func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.expect(w.until(30*time.Second), "20s GET web", "20.01s DELETE web")
}

// The manager repeats a failed call with the next status of any pod, and with the next full sync.
func TestFailedCallsAreRepeated(t *testing.T) {
	w := newWorld(t)
	w.down = map[string]bool{"GET": true}
	a, b := w.pod("a"), w.pod("b")
	w.SetPodStatus(a, running(a, false))
	w.expect(w.until(5*time.Second), "0s GET a")
	w.SetPodStatus(b, running(b, false))
	w.expect(w.until(15*time.Second), "5s GET a", "5.01s GET b", "10s GET a", "10.01s GET b")
	w.down = map[string]bool{"PATCH": true}
	w.expect(w.until(25*time.Second), "20s GET a", "20.01s PATCH a Running", "20.02s GET b", "20.03s PATCH b Running")
	w.down = nil
	w.expect(w.until(45*time.Second), "30s GET a", "30.01s PATCH a Running", "30.02s GET b", "30.03s PATCH b Running")
}

// Only the full sync repeats a failed DELETE, because the API already has the status.
func TestFailedDeleteIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.down = map[string]bool{"DELETE": true}
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} })
	w.TerminatePod(pod)
	w.expect(w.until(5*time.Second), "0s GET web", "10ms PATCH web Failed", "20ms DELETE web")
	other := w.pod("other")
	w.SetPodStatus(other, running(other, false))
	w.expect(w.until(15*time.Second), "5s GET other", "5.01s PATCH other Running", "10s GET web", "10.01s DELETE web")
	w.down = nil
	w.expect(w.until(45*time.Second), "20s GET web", "20.01s DELETE web")
}

// The manager holds a terminal phase back while containers could be running.
func TestTerminalPhaseIsHeldBack(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	w.running = true
	failed := running(pod, true)
	failed.Phase, failed.Reason = v1.PodFailed, "Evicted"
	w.SetPodStatus(pod, failed)
	w.expect(w.until(9*time.Second), "1s GET web") // nothing but the phase would change
	if s := w.api["web"].Status; s.Phase != v1.PodRunning || s.Reason != "" {
		t.Errorf("the API has phase %s and reason %q, want Running without a reason", s.Phase, s.Reason)
	}
	w.running = false
	w.expect(w.until(19*time.Second), "10s GET web", "10.01s PATCH web Failed")
}

// The manager does not hold back a change from one terminal phase to another.
func TestChangeOfTerminalPhaseIsNotHeldBack(t *testing.T) {
	w := newWorld(t)
	w.running = true
	pod := w.change(w.pod("web"), func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
	w.SetPodStatus(pod, exited(pod, 0))
	w.expect(w.until(time.Second), "0s GET web", "10ms PATCH web Succeeded")
}

// A pod with a terminal phase is not ready in the API, whatever its stored status (B44 in
// scenarios/library/bugs).
func TestTerminalPhaseIsNeverReady(t *testing.T) {
	for phase, reason := range map[v1.PodPhase]string{v1.PodSucceeded: "PodCompleted", v1.PodFailed: "PodFailed"} {
		w := newWorld(t)
		pod := w.pod("web")
		w.SetPodStatus(pod, running(pod, true))
		w.until(5 * time.Second)
		s := running(pod, true)
		s.Phase = phase
		w.SetPodStatus(pod, s)
		w.until(6 * time.Second)
		api := w.api["web"].Status
		for _, typ := range []v1.PodConditionType{v1.PodReady, v1.ContainersReady} {
			if c := status.FindCondition(&api, typ); c.Status != v1.ConditionFalse || c.Reason != reason ||
				c.LastTransitionTime.Second() != 5 {
				t.Errorf("%s: %s is %s with reason %s since %v, want False with reason %s since second 5", phase, typ,
					c.Status, c.Reason, c.LastTransitionTime, reason)
			}
		}
	}
}

// A patch leaves conditions alone that the kubelet does not own.
func TestOtherOwnersConditionsAreKept(t *testing.T) {
	w := newWorld(t)
	pod := w.pod("web")
	w.change(pod, func(p *v1.Pod) {
		p.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue},
			{Type: v1.PodReady, Status: v1.ConditionFalse}}
	})
	w.SetPodStatus(pod, running(pod, true))
	w.until(time.Second)
	api := w.api["web"].Status
	if conditionIs(&api, "example.com/gate") != v1.ConditionTrue ||
		conditionIs(&api, v1.PodReady) != v1.ConditionTrue || len(api.Conditions) != 4 {
		t.Errorf("conditions %v, want the gate and the three of the kubelet, all True", api.Conditions)
	}
}

// realRun is a Guide that knows the first batch of a real run.
type realRun struct {
	choose.Replay
	batch []string
}

func (r *realRun) Place(string, string) (int, bool)             { return 0, false }
func (r *realRun) Walk(string, string, string) ([]string, bool) { return r.batch, r.batch != nil }
func (r *realRun) Turn(string, string)                          { r.batch = nil }

// The manager waits for the statuses that the batch of a real run has. Without a log of a real run,
// another batch syncs them.
func TestBatchWaitsForItsStatuses(t *testing.T) {
	once := []string{"0s GET a", "10ms PATCH a Running", "20ms GET b", "30ms PATCH b Running"}
	for _, c := range []struct{ real, want []string }{
		{nil, slices.Concat(once, []string{"40ms GET a", "50ms PATCH a Running"})},
		{[]string{"ns/a", "ns/b"}, once},
	} {
		w := newWorldOf(t, &realRun{Replay: *choose.NewReplay(nil), batch: c.real})
		a, b := w.pod("a"), w.pod("b")
		w.until(0)
		w.sim.At(0, "set a", func() { w.SetPodStatus(a, running(a, false)) })
		w.sim.Go("pod worker", func(*sim.Proc) {
			w.SetPodStatus(b, running(b, false))
			w.SetPodStatus(a, running(a, true))
		})
		w.expect(w.until(time.Second), c.want...)
	}
}

// A pod worker waits to store a status as long as the batch of a real run comes without it.
func TestStatusWaitsForABatchWithoutIt(t *testing.T) {
	for _, c := range []struct {
		real []string
		want string
	}{
		{nil, "[store batch]"},
		{[]string{"ns/web"}, "[store batch]"},
		{[]string{"ns/other"}, "[batch store]"},
	} {
		g := &realRun{Replay: *choose.NewReplay(nil), batch: c.real}
		w := newWorldOf(t, g)
		web := w.pod("web")
		w.until(0)
		var got []string
		w.sim.Go("pod worker", func(p *sim.Proc) {
			w.sim.Go("batch", func(*sim.Proc) {
				got = append(got, "batch")
				g.Turn("", "")
			})
			w.WaitToStore(p, web)
			got = append(got, "store")
		})
		w.until(time.Second)
		if fmt.Sprint(got) != c.want {
			t.Errorf("with the batch %v: %v, want %s", c.real, got, c.want)
		}
	}
}
