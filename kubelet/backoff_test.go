package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// The crash-loop back-off is 0 s after the first crash, then 10 s, and doubles up to 300 s. It
// starts over after more than 600 s without a restart (doBackOff in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func TestBackOffSequence(t *testing.T) {
	w := newBackOffWorld(t)
	var got, long, reset []time.Duration
	w.sim.Go("pod worker", func(p *sim.Proc) {
		w.try(p)
		got = w.crashes(p, time.Second, 9)
		long = w.crashes(p, 600*time.Second, 1) // at most 600 s since the last restart
		reset = w.crashes(p, 600*time.Second+1, 1)
		reset = append(reset, w.crashes(p, time.Second, 2)...)
	})
	if err := w.sim.RunUntil(virtual.At(24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if want := "[0s 10s 20s 40s 1m20s 2m40s 5m0s 5m0s 5m0s]"; fmt.Sprint(got) != want {
		t.Errorf("delays %v, want %v", got, want)
	}
	if fmt.Sprint(long) != "[5m0s]" || fmt.Sprint(reset) != "[0s 10s 20s]" {
		t.Errorf("after 600 s %v and after more %v, want [5m0s] and [0s 10s 20s]", long, reset)
	}
}

// The back-off counts from the newest instance that had exited when the sync began. An instance
// that was still running then, and that the sync kills and restarts, does not count.
func TestBackOffCountsFromObservedExit(t *testing.T) {
	w := newBackOffWorld(t)
	var got []string
	w.sim.Go("pod worker", func(p *sim.Proc) {
		note := func(started bool, expires virtual.Wall) {
			got = append(got, fmt.Sprint(p.Now(), " ", started, " ", expires))
		}
		note(w.try(p))
		note(w.try(p)) // killed by a probe: no instance has exited
		note(w.try(p, 0))
		p.Sleep(3 * time.Second)
		note(w.try(p, 0, virtual.Wall(2*time.Second))) // the newest exited at 2 s
	})
	if err := w.sim.RunUntil(virtual.At(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0s true 0s", "0s true 0s", "0s true 0s", "3s false 12s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A container in its back-off shows this in the status of the pod, and in an event.
func TestBackOffInStatusAndEvents(t *testing.T) {
	w := newBackOffWorld(t)
	w.sim.Go("pod worker", func(p *sim.Proc) {
		w.try(p, 0)
		w.try(p, 0)
	})
	if err := w.sim.RunUntil(0); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, r := range w.trace.Records() {
		events = append(events, r.Reason+": "+r.Message)
	}
	want := []string{
		`Pulled: Container image "" already present on machine and can be accessed by the pod`,
		"Created: Container created", "Started: Container started",
		"BackOff: Back-off restarting failed container app in pod web_ns(uid)",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s := w.convertToAPIContainerStatuses(w.update.pod,
		&podStatus{resources: []*amounts{nil}, containers: []fakeruntime.Container{{
			Name: "app", State: fakeruntime.Exited, ExitCode: 1,
		}}}, nil, w.update.pod.Spec.Containers, false)
	want1 := &v1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=app pod=web_ns(uid)",
	}
	if diff := cmp.Diff(want1, s[0].State.Waiting); diff != "" || s[0].LastTerminationState.Terminated.ExitCode != 1 {
		t.Errorf("state %+v (-want +got):\n%s", s[0], diff)
	}
}

// The back-off counts in wall-clock time. Its expiry follows the monotonic clock.
func TestBackOffAndClockSteps(t *testing.T) {
	w := newBackOffWorld(t)
	w.sim.Go("pod worker", func(p *sim.Proc) {
		expect := func(finished virtual.Wall, started bool, expires virtual.Wall) {
			t.Helper()
			if s, e := w.try(p, finished); s != started || e != expires {
				t.Errorf("at %v, wall clock %v ahead: started %t, or else at %v", p.Now(), w.ahead, s, e)
			}
		}
		expect(0, true, 0)
		p.Sleep(time.Second)
		expect(virtual.Wall(time.Second), false, virtual.Wall(11*time.Second))
		w.ahead = time.Hour
		w.backOff.forget(p.Now())
		expect(virtual.Wall(time.Second), true, 0)
		crashed := virtual.Wall(p.Now()).Add(time.Hour)
		expect(crashed, false, crashed.Add(20*time.Second))
		w.ahead = -time.Hour
		p.Sleep(600 * time.Second)
		w.backOff.forget(p.Now())
		expect(crashed, false, crashed.Add(20*time.Second))
		p.Sleep(1)
		w.backOff.forget(p.Now())
		expect(crashed, true, 0)
	})
	if err := w.sim.RunUntil(virtual.At(24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
}
