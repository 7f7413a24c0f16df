package main

import (
	"probesim.dev/scenarios/drive"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// simulation is a completed or interrupted run.
type simulation struct {
	job       *job
	records   []trace.Record
	internal  bool
	end       virtual.Time // before job.until if the run ended early
	unreached []drive.Unreached
	results   []expect.Result
	err       error // why the run ended early
}

// errInterrupted is the error of a run that a signal interrupted.
var errInterrupted = simulate.ErrInterrupted

// simulate runs a job with the memory of an account. It passes each new record to sink unless sink is nil, and periodically the
// virtual time to progress. A panic becomes the error of the run.
func (j *job) simulate(a *account, internal bool, sink func(*trace.Record), progress func(virtual.Time)) *simulation {
	r := simulate.Run(a.ctx, j.plan, simulate.Options{
		Until: j.until, Internal: internal, Sink: sink, Progress: progress, MaxMemory: a.left(), Reserve: a.reserve,
		Chooser: j.chooser,
	})
	r.Err = a.budget.explain(r.Err)
	if j.runs == 1 {
		r.Alone()
	}
	return &simulation{job: j, records: r.Records, internal: r.Internal, end: r.End, unreached: r.Unreached, results: r.Results, err: r.Err}
}
