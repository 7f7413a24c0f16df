package library

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
)

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs
// allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

var loaded = sync.OnceValues(Scenarios)

func load(t testing.TB) []*scenarios.Scenario {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func name(plan *scenarios.Plan) string {
	text := plan.Scenario.Metadata.Name + " [" + plan.Version + "]"
	if plan.Seed != nil {
		text += fmt.Sprintf(" seed %d", *plan.Seed)
	}
	return text
}

// TestScenarios runs each plan of each scenario, and the plans of each third scenario, or of each,
// once more with internal records. The expectations hold, in each run or in some run of a version,
// the two runs are the same, and each record has a cause.
func TestScenarios(t *testing.T) {
	for i, s := range load(t) {
		runs := map[string][][]expect.Result{}
		for _, plan := range s.Plans() {
			t.Run(name(plan), func(t *testing.T) {
				first := simulate(t, plan, options{})
				holds(t, first)
				runs[plan.Version] = append(runs[plan.Version], first.results)
				for _, why := range uncaused(first.records) {
					t.Error(why)
				}
				if i%long.Sample(3, 1) != 0 {
					return
				}
				again := simulate(t, plan, options{internal: true})
				if again.hash() != first.hash() {
					t.Errorf("with internal records the hash is %s, and was %s without", again.hash(), first.hash())
				}
				for _, why := range uncaused(again.records) {
					t.Error(why)
				}
			})
		}
		for version, results := range runs {
			for _, result := range expect.Some(results) {
				if result.Outcome != report.OK && result.Outcome != report.Skipped {
					t.Errorf("%s:%d: %s did not hold in any run of %s", result.Expect.File, result.Expect.Line,
						result.Expect.Name, version)
				}
			}
		}
	}
}

// TestSeeds runs the scenarios with random delays, jitter and orders of simultaneous events.
// Expectations must hold with every seed. By default, each second scenario has one seed.
func TestSeeds(t *testing.T) {
	for i, s := range load(t) {
		if i%long.Sample(2, 1) != 0 {
			continue
		}
		for _, version := range versions(s) {
			for seed := range int64(long.Sample(1, 5)) {
				plan := s.Plan(version, &seed)
				t.Run(name(plan), func(t *testing.T) { holds(t, simulate(t, plan, options{})) })
			}
		}
	}
}

// versions returns the versions of the plans of a scenario, oldest first.
func versions(s *scenarios.Scenario) []string {
	var all []string
	for _, plan := range s.Plans() {
		all = append(all, plan.Version)
	}
	return slices.Compact(all)
}

func holds(t *testing.T, r *run) {
	t.Helper()
	for _, u := range r.unreached {
		t.Errorf("%s:%d: the step was not reached", u.Step.File, u.Step.Line)
	}
	for _, result := range r.results {
		switch {
		case result.Outcome == report.OK, result.Outcome == report.Unmet:
			continue
		case result.Outcome == report.Skipped && !result.Expect.AppliesTo(r.version):
			continue
		}
		e := result.Expect
		t.Errorf("%s:%d: %s did not hold %s", e.File, e.Line, e.Name, result.Why)
		for _, f := range result.Failures {
			t.Logf("expected %s\ngot      %s", f.Expected, f.Got)
		}
	}
}

// TestForm checks what readers rely on: unique names, descriptions, named expectations, the labels
// of upstream tests, and for findings of the comparison with the real kubelet, which side was
// wrong.
func TestForm(t *testing.T) {
	files := map[string]string{}
	for _, s := range load(t) {
		if other, twice := files[s.Metadata.Name]; twice {
			t.Errorf("%s:%d: the name %s is also in %s", s.File, s.Line, s.Metadata.Name, other)
		}
		files[s.Metadata.Name] = s.File
		if s.Spec.Description == "" || len(s.Spec.Expect) == 0 {
			t.Errorf("%s:%d: needs a description and expectations", s.File, s.Line)
		}
		if strings.HasPrefix(s.File, "e2e/") != (s.Metadata.Labels["e2e"] != "") {
			t.Errorf("%s:%d: the label e2e is for the files in e2e, which all have one", s.File, s.Line)
		}
		if text, err := FS.ReadFile(s.File); strings.HasPrefix(s.File, "found/") && (err != nil ||
			!strings.Contains(strings.ToLower(string(text)), "wrong")) {
			t.Errorf("%s: the comment must name the side that was wrong", s.File)
		}
		for _, e := range s.Spec.Expect {
			if e.Name == "" {
				t.Errorf("%s:%d: the expectation needs a name", e.File, e.Line)
			}
		}
	}
}

// BenchmarkLibrary runs the default plans of all scenarios, one after the other.
func BenchmarkLibrary(b *testing.B) {
	all := load(b)
	for b.Loop() {
		for _, s := range all {
			for _, plan := range s.Plans() {
				simulate(b, plan, options{})
			}
		}
	}
}
