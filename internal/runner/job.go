// Package runner makes the runs of many scenarios, in parallel, and writes their reports in order.
// It is the engine of the commands run, diff, why and others.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Job is one run to simulate.
type Job struct {
	Plan   *scenarios.Plan
	Until  virtual.Time
	Group  int    // the same for all runs of one scenario and version
	Runs   int    // number of runs of its group
	Replay string // command that repeats this run

	Title   string          // instead of the name of the scenario; empty: that name
	Notes   []string        // about the run, for its report
	Chooser choose.Chooser  // makes the choices of the run; nil: the seed of the plan does
	Engine  simulate.Engine // makes the run; nil: the simulated node does
	// Played is the result of a run that was not simulated; nil: Simulate makes one.
	Played *simulate.Result
	Memory pool.Memory // maximum for the command, of which the trace can take half; 0: node.DefaultLimits.Memory

	from   virtual.Time // start of the timeline
	zero   *time.Duration
	also   []trace.Kind // internal kinds of records that the report needs
	number int          // of the job
}

// Name describes the version and seed of the run.
func (j *Job) Name() string {
	if j.Plan.Seed == nil {
		return "the run of " + j.Plan.Version
	}
	return fmt.Sprintf("the run of %s with seed %d", j.Plan.Version, *j.Plan.Seed)
}

// failed returns the error of a run that did not complete.
func (j *Job) failed(err error) error {
	return fmt.Errorf("%s: %s %s: %w", j.Plan.Scenario.Pos, j.Plan.Scenario.Metadata.Name, j.Plan.Version, err)
}

// Run is a completed or interrupted run of a job.
type Run struct {
	simulate.Result
	Job *Job
}

// Simulate runs a job. It passes each new record to sink unless sink is nil, and periodically the
// virtual time to progress. A panic becomes the error of the run.
func (j *Job) Simulate(ctx context.Context, internal bool, sink func(*trace.Record), progress func(virtual.Time)) *Run {
	r := j.Played
	if r == nil {
		r = simulate.Run(ctx, j.Plan, simulate.Options{
			Until: j.Until, Internal: internal, Sink: sink, Progress: progress, MaxMemory: int64(j.Memory / 2),
			Chooser: j.Chooser, Also: j.also, Engine: j.Engine,
		})
	} else if sink != nil {
		for i := range r.Records {
			sink(&r.Records[i])
		}
	}
	if errors.As(r.Err, new(*node.MemoryError)) {
		r.Err = fmt.Errorf("%w, or raise --max-memory, which is %s", r.Err, j.Memory)
	}
	if j.Runs == 1 {
		r.Alone()
	}
	return &Run{*r, j}
}

// Report returns the report of a run.
func (r *Run) Report() *report.Run {
	run := r.Result.Report(r.Job.Replay)
	run.Zero = r.Job.zero
	if r.Job.Title != "" {
		run.Scenario = r.Job.Title
	}
	run.Notes = append(slices.Clip(run.Notes), r.Job.Notes...)
	if r.Job.Runs == 1 {
		run.Notes, run.Unproven = append(run.Notes, run.Unproven...), nil
	}
	return run
}

// Interrupted is the error of work that ended early because its context was done.
type Interrupted struct {
	Cause error  // of the context; context.Canceled: a signal
	Done  string // how much was done
}

func (e Interrupted) Error() string {
	if e.Cause == context.Canceled {
		return "interrupted" + e.Done
	}
	return e.Cause.Error() + e.Done
}

func interrupted(ctx context.Context, format string, args ...any) error {
	return Interrupted{context.Cause(ctx), fmt.Sprintf(format, args...)}
}
