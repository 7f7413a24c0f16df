// Package expect checks what a scenario expects against the trace of a run.
//
// The trace is read once into an index by pod and kind. A state is then a step function of time, and a
// change or record a sorted list of moments, so that a window is looked up in them and each expectation
// takes time linear in the records that it is about, however many moments its since has.
//
// The state at an instant is the one after everything that happened at that instant. A pod has no status
// before it was created and after it was removed.
package expect

import (
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run is what is needed of a run to check it.
type Run struct {
	Records []trace.Record
	// End is the virtual time at which the run ended; 0 is the duration of the scenario. In a run that was
	// cut short, what fails for want of time is skipped.
	End virtual.Time
	// Internal is set if the internal records were kept. Expectations about them are skipped otherwise.
	Internal bool
}

// Outcome is what became of an expectation in a run.
type Outcome int

const (
	Held Outcome = iota
	Failed
	Skipped // it is not about this run; see Why
	Unmet   // with runs: some, it did not hold in this run, which is no failure yet; see Some
)

// Result is an expectation and its outcome.
type Result struct {
	Expect  *scenarios.Expect
	Outcome Outcome
	Why     string // of Skipped: in words
	// Failures are the pods and moments of since for which it failed, the first few of them; More is the
	// number of the others.
	Failures []Failure
	More     int
}

// Failure says how an expectation failed, for an engineer to read.
type Failure struct {
	Expected string
	Got      string
	Around   []Line // the records around the moment, in order
}

// Line is a record near the moment of a failure; Mark says that it is what failed.
type Line struct {
	Record *trace.Record
	Mark   bool
}

// maxFailures is how many failures of an expectation are told in full.
const maxFailures = 3

// Check checks all expectations of a scenario in a run of it, in the order of the file.
func Check(plan *scenarios.Plan, run Run) ([]Result, error) {
	version, err := value.ParseVersion(plan.Version)
	if err != nil {
		return nil, err
	}
	c := newChecker(plan, run)
	c.version = version
	c.index = newIndex(run.Records)
	results := make([]Result, len(c.scenario.Spec.Expect))
	for i, e := range c.scenario.Spec.Expect {
		results[i] = c.check(e)
	}
	return results, nil
}

// Internal reports whether a scenario names internal records, in what it expects or as the moment of a
// step: a run keeps them only if it is told to.
func Internal(s *scenarios.Scenario) bool {
	for _, e := range s.Spec.Expect {
		if internalKind(e) != "" {
			return true
		}
	}
	for _, step := range s.Spec.Steps {
		if internalMoment(step.Since) {
			return true
		}
	}
	return false
}

// checker checks the expectations of one run.
type checker struct {
	scenario *scenarios.Scenario
	version  value.Version
	duration time.Duration // of the scenario; the run may have been cut short
	run      Run
	index    *index
}

func newChecker(plan *scenarios.Plan, run Run) *checker {
	if run.End == 0 {
		run.End = virtual.At(plan.Duration)
	}
	return &checker{scenario: plan.Scenario, duration: plan.Duration, run: run}
}

func (c *checker) cut() bool { return c.run.End < virtual.At(c.duration) }

func (c *checker) check(e *scenarios.Expect) Result {
	r := Result{Expect: e}
	if r.Why = c.skip(e); r.Why != "" {
		r.Outcome = Skipped
		return r
	}
	f := &failures{checker: c, expect: e}
	c.evaluate(e, f)
	switch {
	case f.count == 0:
	case f.undecided && c.cut():
		r.Outcome, r.Why = Skipped, "the run was cut short at "+value.Format(c.run.End.Offset())
	case e.Runs == scenarios.SomeRun:
		r.Outcome, r.Failures, r.More = Unmet, f.list, f.count-len(f.list)
	default:
		r.Outcome, r.Failures, r.More = Failed, f.list, f.count-len(f.list)
	}
	return r
}

// skip says why an expectation is not checked in this run, if so.
func (c *checker) skip(e *scenarios.Expect) string {
	if !e.AppliesTo(c.version) {
		return "only for " + versions(e.KubernetesVersions)
	}
	if kind := internalKind(e); kind != "" && !c.run.Internal {
		return "no " + string(kind) + " records were kept in this run"
	}
	return ""
}

// Some makes the result of the expectations with runs: some for all runs of one version, which it takes
// the results of: one run in which it held is enough. The others are left out.
func Some(runs [][]Result) []Result {
	if len(runs) == 0 {
		return nil
	}
	var results []Result
	for i, r := range runs[0] {
		if r.Expect.Runs != scenarios.SomeRun {
			continue
		}
		results = append(results, best(runs, i))
	}
	return results
}

// best returns the result of the run that did best on expectation i.
func best(runs [][]Result, i int) Result {
	result := runs[0][i]
	for _, results := range runs {
		switch r := results[i]; {
		case r.Outcome == Held:
			return r
		case r.Outcome == Unmet && result.Outcome == Skipped:
			result = r
		}
	}
	if result.Outcome == Unmet {
		result.Outcome = Failed
	}
	return result
}
