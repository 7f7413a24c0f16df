package runner

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/report"
	"probesim.dev/report/why"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run is a completed or interrupted run of a job.
type Run struct {
	simulate.Result
	Job *Job
}

// Simulate runs a job with the memory of an account. It passes each new record to sink unless sink is nil, and periodically the
// virtual time to progress. A panic becomes the error of the run.
func (j *Job) Simulate(a *pool.Account, internal bool, sink func(*trace.Record), progress func(virtual.Time)) *Run {
	r := simulate.Run(a.Context(), j.Plan, simulate.Options{
		Until: j.Until, Internal: internal, Sink: sink, Progress: progress, MaxMemory: a.Left(), Reserve: a.Reserve,
		Chooser: j.Chooser,
	})
	r.Err = a.Explain(r.Err)
	if j.Runs == 1 {
		r.Alone()
	}
	return &Run{*r, j}
}

// Report returns the report of a run.
func (r *Run) Report() *report.Run {
	run := r.Result.Report(r.Job.Replay)
	if r.Job.Title != "" {
		run.Scenario = r.Job.Title
	}
	run.Notes = append(slices.Clip(run.Notes), r.Job.Notes...)
	return run
}

// Why returns the causes of what happened. It names the rules of the scenario.
func (r *Run) Why() *why.Run {
	run := why.New(r.Records, Pods(r.Plan), r.End)
	run.Says = func(pod, container string, number int) string {
		if rule := r.Plan.Rule(pod, container, number); rule != nil {
			return rule.Says()
		}
		return ""
	}
	return run
}

// Pods returns the pods of a run.
func Pods(plan *scenarios.Plan) []*v1.Pod {
	var list []*v1.Pod
	for _, p := range plan.Pods() {
		list = append(list, p.Pod)
	}
	return list
}
