package random

import (
	"strings"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/trace"
)

// TestStepClock checks that the option StepClock adds only steps of the wall clock to a file, and
// that they change many runs.
func TestStepClock(t *testing.T) {
	changed, all := 0, long.Sample(20, 100)
	for seed := uint64(1); seed <= uint64(all); seed++ {
		file, stepped := string(Scenario(seed)), string(Options{StepClock: true}.Scenario(seed))
		var rest []string
		for line := range strings.Lines(stepped) {
			if !strings.Contains(line, "stepClock: {by: ") {
				rest = append(rest, line)
			}
		}
		if got := strings.TrimSuffix(strings.Join(rest, ""), "  steps:\n"); got == stepped ||
			got != strings.TrimSuffix(file, "  steps:\n") {
			t.Fatalf("seed %d without its steps of the clock:\n%s\nand without the option:\n%s", seed, got, file)
		}
		plain := trace.Hash(run(t, seed, load(t, seed, []byte(file))))
		if withoutSteps(run(t, seed, load(t, seed, []byte(stepped)))) != plain {
			changed++
		}
	}
	if changed < all*3/10 {
		t.Errorf("%d of %d runs differ, want at least 30%%", changed, all)
	}
}

// withoutSteps returns the hash of a run without its records of steps of the clock.
func withoutSteps(records []trace.Record) string {
	var rest []trace.Record
	for _, r := range records {
		if r.Kind != trace.Step || r.Reason != "stepClock" {
			rest = append(rest, r)
		}
	}
	return trace.Hash(rest)
}
