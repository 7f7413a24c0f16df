package preview138

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// bound is a manager whose workers belong to instances. Its probes log when they begin.
type bound struct {
	*testing.T
	sim     *sim.Sim
	m       *containerBoundManager
	pod     *v1.Pod
	log     []string
	results map[trace.Probe]string // the outcome of each probe
	took    time.Duration          // the time that each probe takes
	clock   time.Duration          // the offset of the wall clock
	updates int
	undrain bool // nobody receives the results
}

type boundOptions struct {
	mutable bool
	chooser choose.Chooser
	undrain bool
}

// newBound returns the manager of a kubelet that has just started, and a pod with the probes that
// change sets.
func newBound(t *testing.T, o boundOptions, change func(*v1.Container)) *bound {
	b := &bound{T: t, results: map[trace.Probe]string{}, undrain: o.undrain}
	b.sim = sim.New(sim.Options{Chooser: o.chooser})
	t.Cleanup(b.sim.Close)
	p := profile.V1_38_preview
	p.MutableContainerProbes = o.mutable
	recorder := &trace.Recorder{Internal: true}
	b.m = NewManager(prober.Options{
		Sim: b.sim, Trace: recorder, Profile: p, Now: func() time.Time {
			return epoch.Add(b.sim.Now().Offset() + b.clock)
		},
		Runner: b, Events: b, Instance: func(string) int { return 0 }, Step: func(string) int64 { return 0 },
		Results: prober.Results{
			Liveness: b.newResults(recorder, trace.Liveness), Readiness: b.newResults(recorder, trace.Readiness),
			Startup: b.newResults(recorder, trace.Startup),
		},
	}).(*containerBoundManager)
	b.pod = &v1.Pod{}
	b.pod.Namespace, b.pod.Name, b.pod.UID = "ns", "web", "uid"
	b.pod.Spec.Containers = []v1.Container{{Name: "app"}}
	change(&b.pod.Spec.Containers[0])
	return b
}

func (b *bound) newResults(recorder *trace.Recorder, probe trace.Probe) *results.Manager {
	m := results.NewManager(b.sim, probe, recorder)
	b.sim.Go(string(probe)+" updates", func(p *sim.Proc) {
		for !b.undrain {
			u := m.Updates().Recv(p)
			b.updates++
			b.logf("%s of %s is %s", probe, u.ContainerID, u.Result)
		}
	})
	return m
}

func (b *bound) logf(format string, args ...any) {
	b.log = append(b.log, fmt.Sprintf("%v ", b.sim.Now().Offset())+fmt.Sprintf(format, args...))
}

func (b *bound) RunInContainer(p *sim.Proc, c prober.Command) prober.Output {
	b.logf("%s probes %s", c.Probe, c.ContainerID)
	p.Sleep(b.took)
	if b.results[c.Probe] == "fail" {
		return prober.Output{ExitCode: 1}
	}
	return prober.Output{}
}

func (b *bound) ContainerEvent(_ *v1.Pod, _, _, reason, message string) int64 {
	b.logf("event %s: %s", reason, strings.TrimSpace(message))
	return 0
}

// at calls f in a process at a time.
func (b *bound) at(t time.Duration, f func(p *sim.Proc)) {
	b.sim.At(virtual.At(t), "at", func() { b.sim.Go("pod worker", f) })
}

func (b *bound) start(p *sim.Proc, id string) {
	b.m.StartProbes(p, b.pod, &b.pod.Spec.Containers[0], "10.0.0.9", id)
}

func (b *bound) ensure(p *sim.Proc, running ...prober.Instance) {
	b.m.EnsureProbes(p, b.pod, "10.0.0.9", running)
}

// until runs the simulation and returns the log.
func (b *bound) until(t time.Duration) string {
	b.Helper()
	if err := b.sim.RunUntil(virtual.At(t)); err != nil {
		b.Fatal(err)
	}
	return strings.Join(b.log, "\n")
}

// want runs the simulation and compares the log. The lines of one instant have no order, because
// several processes write them.
func (b *bound) want(t time.Duration, want string) {
	b.Helper()
	got, wanted := strings.Split(b.until(t), "\n"), strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(got)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, got); diff != "" {
		b.Errorf("the log (-want +got):\n%s", diff)
	}
}

// status returns Started and Ready of the running container.
func (b *bound) status(id string) string {
	s := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "app", ContainerID: id, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
	}}}
	b.m.UpdatePodStatus(nil, b.pod, s)
	return fmt.Sprintf("started=%t ready=%t", *s.ContainerStatuses[0].Started, s.ContainerStatuses[0].Ready)
}

func probeSpec(delay, period, failures int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:        v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}},
		InitialDelaySeconds: delay, PeriodSeconds: period, FailureThreshold: failures, SuccessThreshold: 1,
		TimeoutSeconds: 30,
	}
}

func liveness(delay, period, failures int32) func(*v1.Container) {
	return func(c *v1.Container) { c.LivenessProbe = probeSpec(delay, period, failures) }
}

func readiness(delay, period int32) func(*v1.Container) {
	return func(c *v1.Container) { c.ReadinessProbe = probeSpec(delay, period, 1) }
}

func instance(id string, started time.Duration) prober.Instance {
	return prober.Instance{Name: "app", ContainerID: id, StartedAt: epoch.Add(started)}
}

// The first probe runs when the delay has passed since the start of the instance, on a young
// kubelet too, and a step of the wall clock does not change it.
func TestFirstProbeCountsFromTheStart(t *testing.T) {
	b := newBound(t, boundOptions{}, liveness(5, 10, 3))
	b.at(1700*time.Millisecond, func(p *sim.Proc) { b.start(p, "c1"); b.clock = time.Hour })
	b.want(20*time.Second, `
1.7s liveness of c1 is Success
6.7s liveness probes c1
16.7s liveness probes c1`)
}

// The startup probe runs alone. Its success starts the other probes, whose delay counts from the
// start of the instance.
func TestStartupSuccessStartsTheOtherProbes(t *testing.T) {
	b := newBound(t, boundOptions{}, func(c *v1.Container) {
		c.StartupProbe = probeSpec(0, 4, 9)
		c.ReadinessProbe, c.LivenessProbe = probeSpec(0, 10, 1), probeSpec(6, 10, 1)
	})
	b.results[trace.Startup] = "fail"
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.at(3*time.Second, func(*sim.Proc) { b.results[trace.Startup] = "ok" })
	b.want(7*time.Second, `
0s startup of c1 is Unknown
0s startup probes c1
0s event Unhealthy: Startup probe failed:
4s startup probes c1
4s startup of c1 is Success
4s readiness of c1 is Failure
4s liveness of c1 is Success
4s readiness probes c1
4s readiness of c1 is Success
6s liveness probes c1`)
	if n := len(b.m.workers); n != 2 || b.status("c1") != "started=true ready=true" {
		t.Errorf("%d workers, %s", n, b.status("c1"))
	}
}

// After a liveness failure the worker ends, and a sync does not start another one for the same
// instance. The next instance counts its failures from zero, and its results replace those of the
// instance before it.
func TestLivenessFailureEndsTheWorker(t *testing.T) {
	b := newBound(t, boundOptions{}, liveness(0, 10, 2))
	b.results[trace.Liveness] = "fail"
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.at(15*time.Second, func(p *sim.Proc) { b.ensure(p, instance("c1", 0)) })
	b.at(20*time.Second, func(p *sim.Proc) {
		if _, ok := b.m.Results.Liveness.Get("c1"); !ok {
			t.Error("the result ends with the worker")
		}
		b.start(p, "c2")
	})
	b.want(25*time.Second, `
0s liveness of c1 is Success
0s liveness probes c1
0s event Unhealthy: Liveness probe failed:
10s liveness probes c1
10s event Unhealthy: Liveness probe failed:
10s liveness of c1 is Failure
20s liveness of c2 is Success
20s liveness probes c2
20s event Unhealthy: Liveness probe failed:`)
	if _, ok := b.m.Results.Liveness.Get("c1"); ok {
		t.Error("the result of an instance that was replaced is still there")
	}
}

// A sync stops the workers of a container that does not run.
func TestSyncStopsProbesOfAnExitedContainer(t *testing.T) {
	b := newBound(t, boundOptions{}, readiness(0, 10))
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.at(5*time.Second, func(p *sim.Proc) { b.ensure(p) })
	b.want(time.Minute, `
0s readiness of c1 is Failure
0s readiness probes c1
0s readiness of c1 is Success`)
	if got := b.status("c1"); len(b.m.workers)+len(b.m.containers) > 0 || got != "started=true ready=false" {
		t.Errorf("%d workers and %d containers are left; %s", len(b.m.workers), len(b.m.containers), got)
	}
}

// An instance that the manager does not know keeps the readiness of the API if the API is about
// this instance. Its first probe waits for what is left of the delay and a random part of the
// period. The sync loop gets no update.
func TestAdoption(t *testing.T) {
	for name, c := range map[string]struct {
		reported string // the container ID in the API
		want     string
	}{
		"same instance":   {"c1", "started=true ready=true"},
		"no ID":           {"", "started=true ready=true"},
		"other instance":  {"c0", "started=false ready=false"},
		"nothing started": {"-", "started=false ready=false"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBound(t, boundOptions{},
				func(c *v1.Container) { c.StartupProbe, c.ReadinessProbe = probeSpec(8, 10, 1), probeSpec(8, 10, 1) })
			if c.reported != "-" {
				b.pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", ContainerID: c.reported,
					Started: new(bool), Ready: true}}
				*b.pod.Status.ContainerStatuses[0].Started = true
			}
			b.at(3*time.Second, func(p *sim.Proc) { b.ensure(p, instance("c1", time.Second)) })
			b.until(3 * time.Second)
			if got := b.status("c1"); got != c.want || b.updates > 0 {
				t.Errorf("%s, %d updates; want %s and none", got, b.updates, c.want)
			}
			b.until(20 * time.Second)
			if !strings.HasPrefix(b.log[0], "14s ") { // 1 s, the delay of 8 s, and the canonical half of the period
				t.Errorf("first: %s", b.log[0])
			}
		})
	}
}

// A probe that runs when its worker is stopped has no outcome: no result, no event and no record. A
// worker that waits ends at once.
func TestStopCancelsTheRun(t *testing.T) {
	b := newBound(t, boundOptions{},
		func(c *v1.Container) { c.ReadinessProbe, c.LivenessProbe = probeSpec(0, 10, 1), probeSpec(2, 10, 1) })
	b.results[trace.Liveness], b.took = "fail", 5*time.Second
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.at(3*time.Second, func(p *sim.Proc) { b.m.StopProbes(p, "c1", trace.Liveness, trace.Startup) })
	b.at(12*time.Second, func(p *sim.Proc) { b.m.StopProbes(p, "c1", trace.Liveness, trace.Readiness, trace.Startup) })
	b.want(time.Minute, `
0s readiness of c1 is Failure
0s liveness of c1 is Success
0s readiness probes c1
2s liveness probes c1
5s readiness of c1 is Success
10s readiness probes c1`)
	if _, ok := b.m.Results.Readiness.Get("c1"); ok || len(b.m.workers)+len(b.m.containers) > 0 {
		t.Errorf("a result is left: %t; %d workers", ok, len(b.m.workers))
	}

	b = newBound(t, boundOptions{}, liveness(600, 10, 1))
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.at(time.Second, func(p *sim.Proc) { b.m.RemovePod(p, b.pod) })
	b.until(time.Second)
	before := b.sim.Events()
	if b.until(time.Hour); b.sim.Events() != before {
		t.Errorf("%d events after the only worker was stopped", b.sim.Events()-before)
	}
}

// A pod that starts to terminate keeps only its readiness workers, and the cleanup stops the
// workers of pods that are gone.
func TestStopAndCleanUp(t *testing.T) {
	b := newBound(t, boundOptions{},
		func(c *v1.Container) { c.ReadinessProbe, c.LivenessProbe = probeSpec(0, 10, 1), probeSpec(0, 10, 1) })
	b.at(0, func(p *sim.Proc) {
		b.start(p, "c1")
		b.m.StopLivenessAndStartup(p, b.pod)
	})
	b.want(time.Second, `
0s readiness of c1 is Failure
0s liveness of c1 is Success
0s readiness probes c1
0s readiness of c1 is Success`)
	keep := func(types.UID) bool { return false }
	if b.m.Keeps(keep) || !b.m.Keeps(func(types.UID) bool { return true }) {
		t.Error("Keeps is wrong")
	}
	b.at(2*time.Second, func(p *sim.Proc) { b.m.CleanupPods(p, keep) })
	b.until(time.Minute)
	if !b.m.Keeps(keep) || len(b.m.workers) > 0 {
		t.Errorf("%d workers are left", len(b.m.workers))
	}
}

// With MutableContainerProbes the period begins at the end of a run.
func TestMutableProbesCountFromTheEnd(t *testing.T) {
	for mutable, want := range map[bool]string{false: "0s 10s 20s", true: "0s 13s 26s"} {
		b := newBound(t, boundOptions{mutable: mutable}, readiness(0, 10))
		b.took = 3 * time.Second
		b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
		b.until(29 * time.Second)
		var at []string
		for _, line := range b.log {
			if begin, ok := strings.CutSuffix(line, " readiness probes c1"); ok {
				at = append(at, begin)
			}
		}
		if got := strings.Join(at, " "); got != want {
			t.Errorf("mutable %t: probes at %s, want %s", mutable, got, want)
		}
	}
}

// An initial result waits for the sync loop while the channel of the results is full. Everyone else
// then waits for the manager.
func TestFullChannelBlocksTheManager(t *testing.T) {
	b := newBound(t, boundOptions{undrain: true}, readiness(1000, 10))
	blocked := 0
	for i := range 22 {
		b.at(time.Duration(i)*time.Millisecond, func(p *sim.Proc) {
			blocked++
			pod := b.pod.DeepCopy()
			pod.UID = types.UID(fmt.Sprint(i))
			b.m.StartProbes(p, pod, &pod.Spec.Containers[0], "", fmt.Sprint("c", i))
			blocked--
		})
	}
	b.at(time.Second, func(p *sim.Proc) {
		blocked++
		b.m.CleanupPods(p, func(types.UID) bool { return true })
		blocked--
	})
	b.until(time.Minute)
	if blocked != 3 || b.m.Keeps(func(types.UID) bool { return true }) { // the 21st start, the next one and the cleanup
		t.Errorf("%d calls wait, want 3", blocked)
	}
}

// The statuses of a sidecar, a regular init container and a container without probes.
func TestStatusFromResults(t *testing.T) {
	b := newBound(t, boundOptions{}, func(*v1.Container) {})
	always := v1.ContainerRestartPolicyAlways
	b.pod.Spec.InitContainers = []v1.Container{{Name: "setup"},
		{Name: "proxy", RestartPolicy: &always, StartupProbe: probeSpec(0, 1, 1)}}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	s := &v1.PodStatus{
		InitContainerStatuses: []v1.ContainerStatus{{Name: "setup", State: ended},
			{Name: "proxy", ContainerID: "p", State: running}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "app", ContainerID: "a", State: running}},
	}
	states := func() string {
		b.m.UpdatePodStatus(nil, b.pod, s)
		var list []string
		for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
			list = append(list, fmt.Sprintf("%s %t %t", c.Name, *c.Started, c.Ready))
		}
		return strings.Join(list, ", ")
	}
	if got, want := states(), "setup false true, proxy false false, app true true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.m.Results.Startup.Seed("p", results.Success)
	s.InitContainerStatuses[0].State.Terminated.ExitCode = 1
	if got, want := states(), "setup false false, proxy true true, app true true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
