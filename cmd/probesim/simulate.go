package main

import (
	"context"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// simulation is a run that was made.
type simulation struct {
	job       *job
	records   []trace.Record
	internal  bool
	end       time.Duration // before job.until if it ended early
	unreached []scenarios.Unreached
	results   []expect.Result
	err       error // why it ended early
}

// errInterrupted ends a run that someone does not want to wait for.
var errInterrupted = simulate.ErrInterrupted

// simulate makes a run. Each record goes to sink, if there is one, as it is written. Progress is told the
// virtual time now and then. A panic becomes the error of the run.
func (j *job) simulate(ctx context.Context, internal bool, sink func(*trace.Record), progress func(time.Duration)) *simulation {
	r := simulate.Run(ctx, j.plan, simulate.Options{Until: j.until, Internal: internal, Sink: sink, Progress: progress})
	if j.alone {
		r.Alone()
	}
	return &simulation{job: j, records: r.Records, internal: r.Internal, end: r.End, unreached: r.Unreached, results: r.Results, err: r.Err}
}
