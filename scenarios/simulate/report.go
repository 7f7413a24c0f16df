package simulate

import (
	"fmt"

	"probesim.dev/internal/value"
	"probesim.dev/report"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/trace"
)

// Report makes of a run what is reported of it. Replay is the command that makes it again.
func (r *Result) Report(replay string) *report.Run {
	run := &report.Run{
		Scenario:    r.Plan.Scenario.Metadata.Name,
		Description: r.Plan.Scenario.Spec.Description,
		Kubernetes:  r.Plan.Version,
		Seed:        r.Plan.Seed,
		Until:       r.End,
		Replay:      replay,
		Records:     r.Records,
		Steps:       observable(r.Records),
		Restarts:    report.CountRestarts(r.Records),
		Hash:        trace.Hash(r.Records),
		Err:         r.Err,
	}
	if r.Err != nil && r.Err != ErrInterrupted {
		run.Err = fmt.Errorf("%w\nTo repeat this run: %s", r.Err, replay)
	}
	for _, step := range r.Unreached {
		run.Expectations = append(run.Expectations, r.unreachedStep(step))
	}
	run.Expectations = append(run.Expectations, Expectations(r.Results)...)
	return run
}

// observable counts the records that there are with internal ones and without.
func observable(records []trace.Record) int {
	n := 0
	for i := range records {
		if records[i].Kind.Observable() {
			n++
		}
	}
	return n
}

// unreachedStep is a step that did not happen, as a failed expectation.
func (r *Result) unreachedStep(u scenarios.Unreached) report.Expectation {
	e := report.Expectation{Name: "step " + u.Step.Text, File: u.Step.File, Line: u.Step.Line, Column: u.Step.Column}
	why, decided := expect.UnreachedStep(r.Plan, r.checked(), u)
	if decided {
		e.Outcome, e.Failures = report.Failed, []report.Failure{failure(why)}
	} else {
		e.Outcome, e.Why = report.Skipped, "the run was cut short at "+value.Format(r.End)
	}
	return e
}

var outcomes = map[expect.Outcome]report.Outcome{
	expect.Held: report.OK, expect.Failed: report.Failed, expect.Skipped: report.Skipped, expect.Unmet: report.Unmet,
}

// Expectations makes of results what is reported of them.
func Expectations(results []expect.Result) []report.Expectation {
	list := make([]report.Expectation, len(results))
	for i, r := range results {
		list[i] = report.Expectation{Name: name(r.Expect), File: r.Expect.File, Line: r.Expect.Line, Column: r.Expect.Column,
			Outcome: outcomes[r.Outcome], Why: r.Why, More: r.More}
		for _, f := range r.Failures {
			list[i].Failures = append(list[i].Failures, failure(f))
		}
		if last := len(r.Failures) - 1; last >= 0 && r.Expect.Observed {
			list[i].Failures[last].Got += " (if that is right, run it with --update)"
		}
	}
	return list
}

func name(e *scenarios.Expect) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}

func failure(f expect.Failure) report.Failure {
	lines := make([]report.Line, len(f.Around))
	for i, l := range f.Around {
		lines[i] = report.Line{Record: l.Record, Mark: l.Mark}
	}
	return report.Failure{Expected: f.Expected, Got: f.Got, Around: lines}
}
