package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// instantRuntime does everything at once and keeps nothing.
type instantRuntime struct{ calls []fakeruntime.Method }

func (r *instantRuntime) Call(_ *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	r.calls = append(r.calls, c.Method)
	return &fakeruntime.Op{Call: c, Done: true, ID: "id"}
}
func (r *instantRuntime) Release(*fakeruntime.Op) {}
func (r *instantRuntime) CancelProbes(string)     {}
func (r *instantRuntime) Answer(c fakeruntime.Call) *fakeruntime.Op {
	return &fakeruntime.Op{Call: c, Done: true}
}
func (r *instantRuntime) PodDelay(fakeruntime.DelayKind, *v1.Pod) time.Duration { return 0 }
func (r *instantRuntime) Generation() uint64                                    { return 0 }
func (r *instantRuntime) EventInstance(string, string, string) int              { return 0 }
func (r *instantRuntime) Instance(string) int                                   { return 0 }
func (r *instantRuntime) Step(string) int64                                     { return 0 }
func (r *instantRuntime) LastStep(string, string) int64                         { return 0 }
func (r *instantRuntime) NextAttempt(string, string) int                        { return 0 }

// backOffWorld has a container that is started as often as the back-off lets it.
type backOffWorld struct {
	*Kubelet
	sim     *sim.Sim
	runtime *instantRuntime
	update  podUpdate
	ahead   time.Duration // the wall clock
}

func newBackOffWorld(t *testing.T) *backOffWorld {
	w := &backOffWorld{sim: sim.New(sim.Options{}), runtime: &instantRuntime{}}
	t.Cleanup(w.sim.Close)
	wall := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }
	now := func() time.Time { return wall(w.sim.Now() + w.ahead) }
	w.Kubelet = New(Options{
		Sim: w.sim, Trace: &trace.Recorder{}, Profile: profile.Newest(), Now: now, Wall: wall, Runtime: w.runtime,
		API: apiserver.New(apiserver.Options{Sim: w.sim, Trace: &trace.Recorder{}, Now: now}),
	})
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "web", "uid"
	pod.Spec.Containers = []v1.Container{{Name: "app"}}
	w.update = podUpdate{pod: pod}
	return w
}

// try syncs a pod whose container ended at a time, and reports whether it was started, or else when its
// back-off ends.
func (w *backOffWorld) try(p *sim.Proc, finished ...time.Duration) (bool, time.Duration) {
	s := &podStatus{}
	for i := len(finished) - 1; i >= 0; i-- { // newest first
		s.containers = append(s.containers, fakeruntime.Container{Name: "app", Attempt: i, State: fakeruntime.Exited, FinishedAt: finished[i]})
	}
	var did syncResult
	w.startOrBackOff(p, w.update, &w.update.pod.Spec.Containers[0], s, "sandbox", &did)
	if did.err {
		return false, *did.expires
	}
	return true, 0
}

// crashes has the container crash some time after each start and returns the delays before the restarts.
func (w *backOffWorld) crashes(p *sim.Proc, ran time.Duration, n int) []time.Duration {
	var delays []time.Duration
	for range n {
		p.Sleep(ran)
		finished := p.Now()
		if started, expires := w.try(p, finished); !started {
			p.Sleep(expires - 1 - p.Now())
			if started, _ := w.try(p, finished); started {
				delays = append(delays, -1) // too early
			}
			p.Sleep(1)
			w.try(p, finished)
		}
		delays = append(delays, p.Now()-finished)
	}
	return delays
}

// The crash-loop back-off (doBackOff in pkg/kubelet/kuberuntime/kuberuntime_manager.go): the first crash is
// free, then 10 s, doubled each time up to 300 s (B24). After 600 s without a restart it starts over.
func TestBackOffSequence(t *testing.T) {
	w := newBackOffWorld(t)
	var got, long, anew []time.Duration
	w.sim.Go("pod worker", func(p *sim.Proc) {
		w.try(p)
		got = w.crashes(p, time.Second, 9)
		long = w.crashes(p, 600*time.Second, 1) // not more than 600 s since the last restart
		anew = w.crashes(p, 600*time.Second+1, 1)
		anew = append(anew, w.crashes(p, time.Second, 2)...)
	})
	if err := w.sim.RunUntil(24 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if want := "[0s 10s 20s 40s 1m20s 2m40s 5m0s 5m0s 5m0s]"; fmt.Sprint(got) != want {
		t.Errorf("delays %v, want %v", got, want)
	}
	if fmt.Sprint(long) != "[5m0s]" || fmt.Sprint(anew) != "[0s 10s 20s]" {
		t.Errorf("after 600 s %v and after more %v, want [5m0s] and [0s 10s 20s]", long, anew)
	}
}

// The back-off counts from the newest instance that the sync saw ended. One that it saw running, and kills
// and starts anew, leaves no trace in it (B23).
func TestBackOffGoesByWhatTheSyncSaw(t *testing.T) {
	w := newBackOffWorld(t)
	var got []string
	w.sim.Go("pod worker", func(p *sim.Proc) {
		note := func(started bool, expires time.Duration) {
			got = append(got, fmt.Sprint(p.Now(), " ", started, " ", expires))
		}
		note(w.try(p))
		note(w.try(p)) // killed by a probe: no instance has ended
		note(w.try(p, 0))
		p.Sleep(3 * time.Second)
		note(w.try(p, 0, 2*time.Second)) // the newest ended at 2 s
	})
	if err := w.sim.RunUntil(time.Hour); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0s true 0s", "0s true 0s", "0s true 0s", "3s false 12s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A container in back-off says so in the pod's status, and in an event.
func TestBackOffIsSeen(t *testing.T) {
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
	s := w.convertToAPIContainerStatuses(w.update.pod, &podStatus{containers: []fakeruntime.Container{{
		Name: "app", State: fakeruntime.Exited, ExitCode: 1,
	}}}, nil, false)
	want1 := &v1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=app pod=web_ns(uid)",
	}
	if diff := cmp.Diff(want1, s[0].State.Waiting); diff != "" || s[0].LastTerminationState.Terminated.ExitCode != 1 {
		t.Errorf("state %+v (-want +got):\n%s", s[0], diff)
	}
}

// TestBackOffAndSteps: the back-off counts by the wall clock, and is forgotten by the other one.
func TestBackOffAndSteps(t *testing.T) {
	w := newBackOffWorld(t)
	w.sim.Go("pod worker", func(p *sim.Proc) {
		expect := func(finished time.Duration, started bool, expires time.Duration) {
			t.Helper()
			if s, e := w.try(p, finished); s != started || e != expires {
				t.Errorf("at %v, wall clock %v ahead: started %t, or else at %v", p.Now(), w.ahead, s, e)
			}
		}
		expect(0, true, 0)
		p.Sleep(time.Second)
		expect(time.Second, false, 11*time.Second)
		w.ahead = time.Hour
		w.backOff.forget(p.Now())
		expect(time.Second, true, 0)
		crashed := p.Now() + time.Hour
		expect(crashed, false, crashed+20*time.Second)
		w.ahead = -time.Hour
		p.Sleep(600 * time.Second)
		w.backOff.forget(p.Now())
		expect(crashed, false, crashed+20*time.Second)
		p.Sleep(1)
		w.backOff.forget(p.Now())
		expect(crashed, true, 0)
	})
	if err := w.sim.RunUntil(24 * time.Hour); err != nil {
		t.Fatal(err)
	}
}
