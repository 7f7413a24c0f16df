package simulate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/report"
	"probesim.dev/report/summary"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/trace"
)

// Report returns the report of a run. replay is the command that repeats the run.
func (r *Result) Report(replay string) *report.Run {
	run := &report.Run{
		Scenario:    r.Plan.Scenario.Metadata.Name,
		Description: r.Plan.Scenario.Spec.Description,
		Kubernetes:  r.Plan.Version,
		Seed:        r.Plan.Seed,
		Until:       r.End,
		Replay:      replay,
		Notes:       r.Plan.Notes(),
		Records:     r.Records,
		Steps:       observable(r.Records),
		Restarts:    report.CountRestarts(r.Records),
		ProbeErrors: report.CountProbeErrors(r.Records),
		Pods:        summary.Measure(r.Records, r.End),
		Hash:        trace.Hash(r.Records),
		Err:         r.Err,
	}
	run.Total = summary.Total(run.Pods)
	if r.Err != nil && r.Err != ErrInterrupted {
		run.Err = fmt.Errorf("%w\nTo repeat this run: %s", r.Err, replay)
	}
	for _, step := range r.Unreached {
		run.Expectations = append(run.Expectations, r.unreachedStep(step))
	}
	run.Expectations = append(run.Expectations, Expectations(r.Results)...)
	return run
}

// Groups returns the pods of a plan as a summary groups them: the replicas of each workload.
func Groups(plan *scenarios.Plan) []summary.Group {
	var groups []summary.Group
	for _, p := range plan.Pods() {
		name := p.Pod.Namespace + "/" + p.Workload
		if n := len(groups); n > 0 && p.Pod.Name != p.Workload && groups[n-1].Name == name && groups[n-1].Pods[0] != name {
			groups[n-1].Pods = append(groups[n-1].Pods, p.Pod.Namespace+"/"+p.Pod.Name)
			continue
		}
		g := summary.Group{Name: name, Pods: []string{p.Pod.Namespace + "/" + p.Pod.Name}}
		for _, c := range p.Pod.Spec.InitContainers {
			if c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
				g.Init = append(g.Init, c.Name)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// observable returns the number of observable records. It does not depend on whether the internal records were kept.
func observable(records []trace.Record) int {
	n := 0
	for i := range records {
		if records[i].Kind.Observable() {
			n++
		}
	}
	return n
}

// unreachedStep reports a step that was not executed as a failed expectation.
func (r *Result) unreachedStep(u scenarios.Unreached) report.Expectation {
	e := report.Expectation{Name: "step " + u.Step.Text, File: u.Step.File, Line: u.Step.Line, Column: u.Step.Column}
	why, decided := expect.UnreachedStep(r.Plan, r.checked(), u)
	if decided {
		e.Outcome, e.Failures = report.Failed, []report.Failure{failure(why)}
	} else {
		e.Outcome, e.Why = report.Skipped, "the run was cut short at "+value.Format(r.End.Offset())
	}
	return e
}

var outcomes = map[expect.Outcome]report.Outcome{
	expect.Held: report.OK, expect.Failed: report.Failed, expect.Skipped: report.Skipped, expect.Unmet: report.Unmet,
}

// Expectations returns the report of the results of expectations.
func Expectations(results []expect.Result) []report.Expectation {
	list := make([]report.Expectation, len(results))
	for i, r := range results {
		list[i] = report.Expectation{Name: name(r.Expect), File: r.Expect.File, Line: r.Expect.Line, Column: r.Expect.Column,
			Outcome: outcomes[r.Outcome], Why: r.Why, More: r.More}
		for _, f := range r.Failures {
			list[i].Failures = append(list[i].Failures, failure(f))
		}
		if last := len(r.Failures) - 1; last >= 0 && r.Expect.Observed {
			list[i].Failures[last].Got += " (if this is correct, run with --update)"
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
