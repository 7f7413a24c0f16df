package explore_test

import (
	"context"
	"testing"
	"time"

	"probesim.dev/explore"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/scenarios"
)

// TestShrinkKeepsTheKind checks that a smaller file fails in the same way: what is missing is not
// just later than the end of a shorter run, and what comes too late still comes.
func TestShrinkKeepsTheKind(t *testing.T) {
	const readiness = `readinessProbe: {exec: {command: [ready]}, initialDelaySeconds: 15}`
	for _, test := range []struct {
		want                       expect.Kind
		probes, behavior, expected string
	}{
		{expect.Missing, readiness, `{for: 20s, readiness: fail}, {readiness: 1}`,
			`within: .., becomes: {ready: true}`},
		{expect.Missing, readiness, `{for: 20s, readiness: fail}, {after: 10s, readiness: 1}`,
			`order: [{record: {kind: ContainerStarted}}, {becomes: {ready: true}}]`},
		{expect.TooLate, readiness, `{for: 40s, readiness: fail}, {for: 9s, readiness: 2}`,
			`first: ..30s, becomes: {ready: true}`},
		{expect.TooLate, readiness, `{for: 40s, readiness: fail}`, `within: ..20s, becomes: {ready: true}`},
		{expect.TooLate, readiness, `{for: 40s, readiness: fail}`, `within: ..20s, status: {ready: true}`},
		{expect.WrongOrder, readiness + `, livenessProbe: {exec: {command: [live]}, failureThreshold: 1}`,
			`{instance: "0", probes: fail}`, `order: [{becomes: {ready: true}}, {record: {kind: ContainerStopping}}]`},
		{expect.TooMany, readiness, `{for: 40s, readiness: fail}, {after: 50s, for: 9s, readiness: 2}`,
			`never: .., record: {kind: ProbeExecuted, probe: readiness, result: failure}`},
		{expect.WrongState, readiness, `{for: 40s, readiness: fail}, {after: 50s, for: 30s, readiness: 2}`,
			`always: 60s.., status: {ready: true}`},
		{expect.TooFew, readiness, `{for: 40s, readiness: fail}`,
			`within: .., count: 2.., becomes: {ready: true}`},
	} {
		text := scenarioOf(test.probes, test.behavior, `  expect: [{name: as it was (before), `+test.expected+`}]`)
		s := subject(t, text)
		if got := kindOf(s, 0); got != test.want {
			t.Errorf("%s fails as %q, want %q", test.expected, got, test.want)
			continue
		}
		small, err := s.Shrink(context.Background(), explore.Change{}, []byte(text), explore.ShrinkOptions{})
		if err != nil {
			t.Errorf("%s: %v", test.expected, err)
			continue
		}
		all, err := scenarios.LoadBytes("small.yaml", small.File, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, small.File)
		}
		if got := kindOf(subjectOf(all[0]), 0); got != test.want {
			t.Errorf("%s: the smaller file fails as %q, want %q\n%s", test.expected, got, test.want, small.File)
		}
		if got := kindOf(subjectOf(all[0]), s.Plan.Duration); test.want == expect.Missing && got != test.want {
			t.Errorf("%s: in a longer run the smaller file fails as %q, want %q\n%s", test.expected, got, test.want,
				small.File)
		}
	}
}

// kindOf returns how the only expectation of a subject fails in a run of a duration; 0: that of its
// scenario.
func kindOf(s explore.Subject, duration time.Duration) expect.Kind {
	if duration > 0 {
		plan := *s.Plan
		plan.Duration, s.Plan = duration, &plan
	}
	results := s.Run(explore.Change{}, false).Results
	if len(results) != 1 || len(results[0].Failures) == 0 {
		return ""
	}
	return results[0].Failures[0].Kind
}
