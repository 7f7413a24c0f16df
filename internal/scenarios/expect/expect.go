// Package expect checks the expectations of a scenario against the trace of a run.
//
// The package reads the trace once into an index by pod and kind of record. A state is then a step
// function of time, and the matches of a change or a record are a sorted list. The checker looks up
// windows in both, so the time for an expectation is linear in the records that the expectation is
// about, even with many matches of since.
//
// The state at an instant is the state after all events of that instant. A pod has no status before
// its creation and after its removal.
package expect

import (
	"slices"
	"time"

	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// Run is the part of a run that the checks need.
type Run struct {
	Records []trace.Record
	// End is the virtual time at which the run ended; 0 means the duration of the scenario. In a
	// run that was cut short, an expectation is skipped if it could still have held in the missing
	// time.
	End virtual.Time
	// Internal reports whether Records has the internal records. Without them, expectations about
	// internal records are skipped.
	Internal bool
}

// Result is an expectation and its outcome.
type Result struct {
	Expect  *format.Expect
	Outcome report.Outcome
	Why     string // the reason, in words, if the outcome is Skipped
	Empty   string // if the outcome is OK: why this proves nothing, in words
	// Failures are the first failures: one for each pod and each match of since. More is the number
	// of further failures.
	Failures []Failure
	More     int
}

// Failure describes how an expectation failed.
type Failure struct {
	Kind Kind
	report.Failure
}

// Kind is how what happened differs from what was expected.
type Kind string

const (
	Unchecked  Kind = "nothing was checked" // no pod, no match of since, or no time
	Missing    Kind = "missing"             // it never happens in the run
	TooEarly   Kind = "too early"
	TooLate    Kind = "too late"
	WrongOrder Kind = "wrong order"
	TooFew     Kind = "too few"
	TooMany    Kind = "too many" // one is too many for never
	WrongState Kind = "wrong state"
)

// maxFailures is the number of failures of an expectation that are described in full.
const maxFailures = 3

// Check checks all expectations of the scenario of a plan against a run of the plan. The results
// are in the order of the file. The error is about the version of the plan.
func Check(plan *scenarios.Plan, run Run) ([]Result, error) {
	c, err := newChecker(plan, run, newIndex(run.Records))
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(c.scenario.Spec.Expect))
	for i, e := range c.scenario.Spec.Expect {
		results[i] = c.check(e)
	}
	return results, nil
}

// Internal reports whether an expectation or a step of a scenario names internal records. A run of
// such a scenario must keep them; by default it does not.
func Internal(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Spec.Expect, func(e *format.Expect) bool { return internalKind(e) != "" }) ||
		slices.ContainsFunc(s.Spec.Steps, func(step *format.Step) bool { return internalMoment(step.Since) })
}

// checker checks the expectations of one run.
type checker struct {
	scenario *scenarios.Scenario
	version  value.Version
	duration time.Duration // of the scenario; the run may be shorter
	run      Run
	index    *index
	ofPods   map[*match.Moment][]int // cache of anchors
}

func newChecker(plan *scenarios.Plan, run Run, ix *index) (*checker, error) {
	if run.End == 0 {
		run.End = virtual.At(plan.Duration)
	}
	version, err := value.ParseVersion(plan.Version)
	return &checker{scenario: plan.Scenario, version: version, duration: plan.Duration, run: run,
		index: ix, ofPods: map[*match.Moment][]int{}}, err
}

func (c *checker) cut() bool { return c.run.End < virtual.At(c.duration) }

func (c *checker) cutShort() string {
	return "the run was cut short at " + value.Format(c.run.End.Offset())
}

func (c *checker) check(e *format.Expect) Result {
	r := Result{Expect: e, Outcome: report.OK}
	if r.Why = c.skip(e); r.Why != "" {
		r.Outcome = report.Skipped
		return r
	}
	f := &failures{checker: c, expect: e}
	c.evaluate(e, f)
	switch {
	case f.count == 0 && c.cut() && c.open(e):
		r.Outcome, r.Why = report.Skipped, c.cutShort()
	case f.count == 0:
		r.Empty = c.empty(e)
	case f.undecided && c.cut():
		r.Outcome, r.Why = report.Skipped, c.cutShort()
	case e.Runs == format.SomeRun:
		r.Outcome, r.Failures, r.More = report.Unmet, f.list, f.count-len(f.list)
	default:
		r.Outcome, r.Failures, r.More = report.Failed, f.list, f.count-len(f.list)
	}
	return r
}

// skip returns the reason why an expectation does not apply to this run, or "" if it applies.
func (c *checker) skip(e *format.Expect) string {
	if !e.AppliesTo(c.version) {
		return "only for " + versions(e.KubernetesVersions)
	}
	if kind := internalKind(e); kind != "" && !c.run.Internal {
		return "no " + string(kind) + " records were kept in this run"
	}
	if e.NeedsDetails() && !c.index.details {
		return "no details of statuses were kept in this run"
	}
	return ""
}

// Some returns the results of the expectations with runs: some over all runs of one version: such
// an expectation holds if it held in at least one run. runs has the results of each run. Other
// expectations are left out.
func Some(runs [][]Result) []Result {
	if len(runs) == 0 {
		return nil
	}
	var results []Result
	for i, r := range runs[0] {
		if r.Expect.Runs == format.SomeRun {
			results = append(results, best(runs, i))
		}
	}
	return results
}

// MergeRuns returns the results of several runs as those of one, for Some.
func MergeRuns(before, next []Result) []Result {
	if before == nil {
		return next
	}
	merged := make([]Result, len(before))
	for i := range before {
		merged[i] = better(before[i], next[i])
	}
	return merged
}

// better returns the better of two results: OK, then Unmet, then Skipped.
func better(a, b Result) Result {
	if b.Outcome == report.OK && a.Outcome != report.OK ||
		b.Outcome == report.Unmet && a.Outcome == report.Skipped {
		return b
	}
	return a
}

// best returns the best result of expectation i in all runs. It failed if it held in none.
func best(runs [][]Result, i int) Result {
	result := runs[0][i]
	for _, results := range runs {
		result = better(result, results[i])
	}
	if result.Outcome == report.Unmet {
		result.Outcome = report.Failed
	}
	return result
}
