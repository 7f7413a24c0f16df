package why_test

import (
	"math"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/why"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestLost explains each loss of the rollouts in the library. The losses are all that is lost, each
// chain of causes has a root, and the steps of an arm add up to the time from the fork to its end.
func TestLost(t *testing.T) {
	explained := 0
	for _, s := range load(t) {
		if len(s.Spec.Traffic) == 0 {
			continue
		}
		for _, plan := range s.Plans() {
			r := simulate.Run(t.Context(), plan, simulate.Options{Internal: true})
			run := r.Why()
			sum := 0.0
			for n := 1; n <= run.Losses(); n++ {
				race, found := run.Lost(n)
				if !found {
					t.Fatalf("%s: there is no loss %d", s.Metadata.Name, n)
				}
				explained++
				if sum += race.Lost; len(race.Fork) > 0 {
					if wrong := chainError(race.Fork); wrong != "" {
						t.Errorf("%s, loss %d: %s", s.Metadata.Name, n, wrong)
					}
					checkArm(t, &race, &race.Begin, race.From)
					checkArm(t, &race, &race.End, race.To)
				}
			}
			want := 0.0
			for _, l := range trace.Losses(r.Records, r.End) {
				want += l.In(virtual.At(value.OpenMinTime), r.End)
			}
			if math.Abs(sum-want) > 1e-6 {
				t.Errorf("%s [%s]: the losses have %v requests, and %v are lost", s.Metadata.Name, plan.Version, sum,
					want)
			}
			if _, found := run.Lost(run.Losses() + 1); found {
				t.Errorf("%s: there are more losses", s.Metadata.Name)
			}
		}
	}
	if explained < 10 {
		t.Errorf("the library has only %d losses", explained)
	}
}

// checkArm checks an arm that ends at a time. A pod that becomes a target can have stopped to
// accept requests long before.
func checkArm(t *testing.T, race *why.Race, arm *why.Arm, end virtual.Time) {
	t.Helper()
	at := race.Fork[0].T
	for _, h := range arm.Steps {
		if h.Text == "" || strings.Contains(h.Text, "there was the record") || strings.Contains(h.Text, "%!") {
			t.Errorf("loss %d has the step %q", race.Number, h.Text)
		}
		if at = at.Add(h.Took); at != h.T {
			t.Errorf("loss %d: the steps add up to %s, and %q is at %s", race.Number, at, h.Text, h.T)
		}
	}
	if len(arm.Steps) > 0 && at != end {
		t.Errorf("loss %d: %q ends at %s, not at %s", race.Number, arm.Text, at, end)
	}
}
