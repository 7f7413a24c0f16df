package realkubelet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

func TestJitter(t *testing.T) {
	var asked []virtual.Time
	r := mustRun(t, Options{Duration: 3 * time.Minute, Jitter: func(t virtual.Time) float64 {
		asked = append(asked, t)
		return 0.25
	}}, addAt0(basePod("p00")))
	var recorded []virtual.Time
	for _, d := range r.Draws {
		if d.Value != 0.25 {
			t.Fatalf("drew %v, want 0.25", d.Value)
		}
		recorded = append(recorded, d.T)
	}
	if !slices.Equal(asked, recorded) || len(asked) == 0 {
		t.Errorf("asked at %v, recorded at %v", asked, recorded)
	}
	if !slices.ContainsFunc(r.Draws, func(d Draw) bool { return d.T > 0 }) {
		t.Error("no draw for the requeue of the pod")
	}
}

// TestYoungKubelet checks that the first run of a probe is delayed by a random part of its period
// if the kubelet is younger than the period.
func TestYoungKubelet(t *testing.T) {
	app := v1.Container{LivenessProbe: execProbe(20, 3), ReadinessProbe: execProbe(30, 3)}
	run := func(seed int64) *Result {
		return mustRun(t, Options{
			Uptime: new(5337 * time.Millisecond), Duration: time.Minute, StartSeed: seed,
		}, addAt0(newPod("p", app), program(fakeruntime.Rule{})))
	}
	one, again, two := run(1), run(1), run(2)
	if len(startsOf(one)) != 2 || !slices.Equal(startsOf(one), startsOf(again)) ||
		slices.Equal(startsOf(one), startsOf(two)) {
		t.Errorf("draws %v, again %v, with another seed %v", startsOf(one), startsOf(again), startsOf(two))
	}
	for _, r := range slices.Concat(one.Starts[0].Runs, again.Starts[0].Runs) { // the workers draw in any order
		if !slices.ContainsFunc(startsOf(one),
			func(f float64) bool { return virtual.At(time.Duration(f*float64(r.Period))) == r.T }) {
			t.Errorf("%+v: no worker drew this delay", r)
		}
	}
	if known := workersOf(one); !slices.Equal(known,
		[]string{"liveness worker default/p/app20s", "readiness worker default/p/app30s"}) {
		t.Errorf("identified the workers %q", known)
	}
	if old := mustRun(t, Options{Duration: time.Second},
		addAt0(newPod("p", app), program(fakeruntime.Rule{}))); len(startsOf(old)) != 0 {
		t.Errorf("a kubelet older than the periods drew %v", startsOf(old))
	}
}

// startsOf returns the draws of the first kubelet's probe workers.
func startsOf(r *Result) []float64 { return r.Starts[0].Fractions }

// workersOf returns the identified probe workers of the first kubelet.
func workersOf(r *Result) []string {
	var known []string
	for _, run := range r.Starts[0].Runs {
		known = append(known, fmt.Sprintf("%s%v", run.Worker, run.Period))
	}
	slices.Sort(known)
	return known
}
