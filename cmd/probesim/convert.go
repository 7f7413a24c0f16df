package main

import (
	"fmt"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/value"
	"probesim.dev/sim/report"
	"probesim.dev/sim/trace"
)

// report makes of a run what is reported of it.
func (s *simulation) report() *report.Run {
	plan := s.job.plan
	r := &report.Run{
		Scenario:    plan.Scenario.Metadata.Name,
		Description: plan.Scenario.Spec.Description,
		Kubernetes:  plan.Version,
		Seed:        plan.Seed,
		Until:       s.end,
		Replay:      s.job.replay,
		Records:     s.records,
		Steps:       observable(s.records),
		Restarts:    report.CountRestarts(s.records),
		Hash:        trace.Hash(s.records),
		Err:         s.err,
	}
	if s.err != nil && s.err != errInterrupted {
		r.Err = fmt.Errorf("%w\nRun it again with: %s", s.err, s.job.replay)
	}
	for _, step := range s.unreached {
		r.Expectations = append(r.Expectations, s.unreachedStep(step))
	}
	r.Expectations = append(r.Expectations, expectations(s.results)...)
	return r
}

// observable counts the records that there are with --verbose and without.
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
func (s *simulation) unreachedStep(u scenarios.Unreached) report.Expectation {
	e := report.Expectation{Name: "step " + u.Step.Text, File: u.Step.File, Line: u.Step.Line, Column: u.Step.Column}
	why, decided := expect.UnreachedStep(s.job.plan, s.run(), u)
	if decided {
		e.Outcome, e.Failures = report.Failed, []report.Failure{failure(why)}
	} else {
		e.Outcome, e.Why = report.Skipped, "the run was cut short at "+value.Format(s.end)
	}
	return e
}

var outcomes = map[expect.Outcome]report.Outcome{
	expect.Held: report.OK, expect.Failed: report.Failed, expect.Skipped: report.Skipped, expect.Unmet: report.Unmet,
}

func expectations(results []expect.Result) []report.Expectation {
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
