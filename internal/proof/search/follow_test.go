package search_test

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/proof/search"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/prober"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const duration = 70 * time.Second

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs
// allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// crashing returns a pod whose probes tick together and whose containers crash. Its run depends
// strongly on the order of simultaneous events.
func crashing() (*v1.Pod, fakeruntime.Pod) {
	probe := func(failures int32) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"healthy"}}},
			PeriodSeconds: 5, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: failures,
		}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	for _, name := range []string{"a", "b"} {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: name, Image: "image:1", StartupProbe: probe(9), LivenessProbe: probe(2), ReadinessProbe: probe(1),
		})
	}
	exit := fakeruntime.Rule{From: fakeruntime.Exactly(31 * time.Second), Exit: &fakeruntime.Exit{Code: 1}}
	program := fakeruntime.Program{Rules: []fakeruntime.Rule{exit}}
	return pod, fakeruntime.Pod{UID: "uid", Namespace: "default", Name: "web",
		Containers: map[string]fakeruntime.ContainerConfig{
			"a": {Program: program}, "b": {Program: program},
		}}
}

// simulate returns a Run that simulates the pod of crashing with the rules of a profile.
func simulate(p profile.Profile) search.Run { return simulateSince(p, node.DefaultUptime) }

// simulateSince is like simulate, on a kubelet with the given age at t=0.
func simulateSince(p profile.Profile, uptime time.Duration) search.Run {
	return func(c choose.Chooser, clock func(func() virtual.Time), until virtual.Time, internal bool) ([]trace.Record,
		error) {
		n := node.New(node.Options{Profile: p, Uptime: &uptime, Chooser: c, Trace: &trace.Recorder{Internal: internal}})
		defer n.Close()
		clock(n.Now)
		n.At(0, func() { n.AddPod(crashing()) })
		err := n.RunUntil(until)
		return n.Trace().Records(), err
	}
}

// requeueRecorder is a chooser that records the jitter that it draws, as package realkubelet does.
// It makes the canonical choice half of the time, and never preempts a process.
type requeueRecorder struct {
	choose.Seeded
	now   func() virtual.Time
	drawn []search.Requeue
}

func (r *requeueRecorder) Next(candidates []choose.Choice) int {
	if r.Seeded.Choose(candidates[0], 2) > 0 {
		return 0
	}
	return r.Seeded.Next(candidates)
}

func (r *requeueRecorder) Choose(c choose.Choice, count int) int {
	if c.Kind == choose.Preemption {
		return 0
	}
	return r.Seeded.Choose(c, count)
}

func (r *requeueRecorder) Fraction(c choose.Choice) float64 {
	f := r.Seeded.Fraction(c)
	r.drawn = append(r.drawn, search.Requeue{T: r.now(), Fraction: f})
	return f
}

// follow runs a simulator with the rules of other, which draws its choices from the seed, and then
// follows that run with the newest rules.
func follow(t *testing.T, seed uint64, other profile.Profile, budget int) (search.Result, []trace.Record) {
	t.Helper()
	c := &requeueRecorder{Seeded: choose.Seeded(seed), now: func() virtual.Time { return 0 }}
	want, err := simulate(other)(c, func(now func() virtual.Time) { c.now = now }, virtual.At(duration), false)
	if err != nil {
		t.Fatal(err)
	}
	return search.Follow(search.Options{
		Run: simulate(profile.Newest()), Want: want, Duration: duration, Requeues: c.drawn, Budget: budget,
	}), want
}

// TestFollowFindsChoices checks that Follow finds choices that reproduce the trace of a run with
// non-canonical choices.
func TestFollowFindsChoices(t *testing.T) {
	searched := false
	for seed := range uint64(2) {
		r, want := follow(t, seed, profile.Newest(), 0)
		if r.Divergence != nil {
			t.Errorf("seed %d: %s", seed, r.Divergence.Text(want))
		}
		searched = searched || len(r.Made) > 0
	}
	if !searched {
		t.Error("each seed gave the canonical run, so the test is vacuous")
	}
}

// TestFollowFindsAnotherRule checks that no choices explain the trace of a kubelet with another
// rule, and that the divergence is the first record that the rule changes.
func TestFollowFindsAnotherRule(t *testing.T) {
	other := profile.Newest()
	other.ManualTrigger = false
	r, want := follow(t, 1, other, 100)
	if r.Divergence == nil {
		t.Fatal("Follow explained a trace of another rule")
	}
	got := r.Divergence.Got
	if len(got) == 0 || got[0].Kind != trace.ProbeExecuted || got[0].Probe != trace.Readiness {
		t.Errorf("the first record that only the simulator has is %+v, want a readiness probe", got)
	}
	text := r.Divergence.Text(want)
	for _, part := range []string{"no choice explains", "\n+ ", "ProbeExecuted readiness success"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text has no %q:\n%s", part, text)
		}
	}
}

// startRecorder is a chooser that records the start delays that the probe workers of a young
// kubelet draw, and the times of their first runs.
type startRecorder struct {
	choose.Seeded
	now   func() virtual.Time
	start search.Start
}

func (r *startRecorder) Fraction(c choose.Choice) float64 {
	f := r.Seeded.Fraction(c)
	if worker, ok := prober.StartJitter.Drawer(c); ok {
		const period = 5 * time.Second
		r.start.Fractions = append(r.start.Fractions, f)
		r.start.Runs = append(r.start.Runs, search.FirstRun{
			Worker: worker, T: r.now().Add(time.Duration(f * float64(period))), Period: period,
		})
	}
	return f
}

func (r *startRecorder) Choose(choose.Choice, int) int { return 0 }

// TestFollowKnowsFirstRuns checks that Follow uses the known first runs to find out which probe
// worker drew which start delay, regardless of the order of the draws.
func TestFollowKnowsFirstRuns(t *testing.T) {
	y := &startRecorder{Seeded: 3, now: func() virtual.Time { return 0 }}
	run := simulateSince(profile.Newest(), 0)
	want, err := run(y, func(now func() virtual.Time) { y.now = now }, virtual.At(duration), false)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(y.start.Fractions)
	o := search.Options{Run: run, Want: want, Duration: duration, Starts: []search.Start{y.start}, Budget: 200}
	if r := search.Follow(o); r.Divergence != nil {
		t.Error(r.Divergence.Text(want))
	}
	o.Starts[0].Runs = nil
	if r := search.Follow(o); r.Divergence == nil {
		t.Error("the trace is explained without the first runs too, so the test is vacuous")
	}
}
