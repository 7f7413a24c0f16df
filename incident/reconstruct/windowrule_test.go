package reconstruct

import (
	"testing"
	"time"
)

// TestParseWindow reads rules and writes them again.
func TestParseWindow(t *testing.T) {
	for _, text := range []string{
		"at: 1s..3s, for: 5s..7s, readiness: 503",
		"instance: 3, after: 1s..3s, liveness: hang",
		"instance: ..2, for: 1.5s, startup: fail in 200ms",
		"instance: 1..4, after: 2s, probes: down",
		"instance: 2.., after: 2s, probes: down",
		"liveness: 1",
	} {
		w, is := parseWindow(text)
		if !is || w.String() != text {
			t.Errorf("%q: %t, %q", text, is, w.String())
		}
	}
	for _, text := range []string{"after: 3s, exit: 1", "readiness: [503 x2, ok]", "at: 3s, every: 5s, for: 1s, liveness: 500", "preStop: fail"} {
		if w, is := parseWindow(text); is {
			t.Errorf("%q is %q", text, w.String())
		}
	}
}

// TestAround checks that a range covers another one, and that its middle stays where the run has it.
func TestAround(t *testing.T) {
	second := func(from, to float64) interval {
		return interval{time.Duration(from * float64(time.Second)), time.Duration(to * float64(time.Second))}
	}
	for _, test := range []struct{ run, wide, want interval }{
		{second(4, 6), second(3, 7), second(3, 7)},
		{second(4, 6), second(0, 4), second(0, 8)},
		{second(10, 11), second(10, 20), second(2, 20)},
		{second(1, 2), second(1, 20), second(1, 2)}, // it would begin before 0s
		{second(4, 6), interval{time.Hour, 0}, second(4, 6)},
	} {
		got := test.run.around(test.wide)
		if got != test.want {
			t.Errorf("%v around %v is %v, not %v", test.run, test.wide, got, test.want)
		}
		if m := got.middle(); m < test.run.from || m > test.run.to {
			t.Errorf("the middle of %v is not in %v", got, test.run)
		}
	}
}

// TestMerged checks which rules of single instances become one.
func TestMerged(t *testing.T) {
	s := &search{best: &attempt{}, model: &model{}}
	rec := simulated(t, liveness, "{after: 3s, exit: 4}")
	r := reconstructed(t, rec)
	s.best.run, s.best.plan = r.Run, r.Plan
	last := len(s.starts("app")) - 1
	if last < 3 {
		t.Fatal(last)
	}
	for _, test := range []struct{ a, b, want string }{
		{"instance: 0, after: 1s..3s, for: 4s..6s, liveness: 500", "instance: 1, after: 2s..4s, for: 3s..5s, liveness: 500", "instance: ..1, after: 1s..4s, for: 3.5s..5.5s, liveness: 500"},
		{"instance: 0, after: 1s..3s, liveness: 500", "instance: 1, after: 2s..4s, liveness: 503", ""},
		{"instance: 0, after: 1s..3s, liveness: 500", "instance: 2, after: 2s..4s, liveness: 500", ""},
		{"instance: 0, after: 1s..2s, liveness: 500", "instance: 1, after: 3s..4s, liveness: 500", ""},
		{"instance: 0, after: 1s, exit: 1", "instance: 1, after: 2s, exit: 1", "instance: ..1, after: 1s..2s, exit: 1"},
		{"instance: 0, after: 1s, exit: 1", "instance: 1, after: 2s, exit: 2", ""},
		{"instance: 0, after: 1s, exit: 1", "instance: 1, after: 9s, exit: 1", ""},
	} {
		if got, is := s.merged("app", test.a, test.b); got != test.want || is != (test.want != "") {
			t.Errorf("%s and %s are %q, not %q", test.a, test.b, got, test.want)
		}
	}
}
