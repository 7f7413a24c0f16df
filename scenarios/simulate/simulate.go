// Package simulate runs scenarios on the simulated node, checks their expectations, and returns what to report.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options configure a run. With the zero value, the run follows the plan.
type Options struct {
	Until    virtual.Time        // virtual time at which the run ends; 0: the duration of the scenario
	Internal bool                // keep the internal records
	Sink     func(*trace.Record) // called with each record when it is written, unless nil
	Progress func(virtual.Time)  // called periodically with the virtual time, unless nil
}

// Result is a finished run.
type Result struct {
	Plan      *scenarios.Plan
	Records   []trace.Record
	Internal  bool         // the internal records were kept, because of Options, an expectation or a step
	End       virtual.Time // earlier than Options.Until if the run ended early
	Unreached []scenarios.Unreached
	Results   []expect.Result
	Err       error // why the run ended early: a limit, a bug in probesim, or ErrInterrupted
}

// ErrInterrupted is the error of a run whose context was canceled.
var ErrInterrupted = errors.New("interrupted")

// chunk is the virtual time between two checks of the context.
const chunk = time.Minute

// maxRecords limits the trace of a run, which is in memory. At 300 bytes a record, the limit is 6 GB.
const maxRecords = 20_000_000

// Run runs a plan and checks its expectations. The run ends early when the context is done. Run recovers from panics and
// returns them in Result.Err.
func Run(ctx context.Context, plan *scenarios.Plan, o Options) (r *Result) {
	if o.Until == 0 {
		o.Until = virtual.At(plan.Duration)
	}
	r = &Result{Plan: plan, Internal: o.Internal || expect.Internal(plan.Scenario)}
	defer func() {
		if p := recover(); p != nil {
			r.Err = fmt.Errorf("bug in probesim, please report it with the scenario: panic: %v\n%s", p, debug.Stack())
		}
	}()
	known, ok := plan.Profile()
	if !ok {
		r.Err = fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
		return r
	}
	recorder := &trace.Recorder{Internal: r.Internal}
	if o.Sink != nil {
		recorder.Sink = func(rec *trace.Record) {
			o.Sink(rec)
			r.Records = append(r.Records, *rec)
		}
	}
	n := node.New(node.Options{Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config, Trace: recorder})
	defer n.Close()
	driver := plan.Drive(n)
	r.Err = runUntil(ctx, n, o.Until, maxRecords, o.Progress)
	r.End = min(n.Now(), o.Until)
	if o.Sink == nil {
		r.Records = recorder.Records()
	}
	if err := driver.Err(); err != nil {
		r.Err = errors.Join(r.Err, err)
	}
	r.Unreached = driver.Unreached()
	results, err := expect.Check(plan, r.checked())
	if err != nil {
		r.Err = errors.Join(r.Err, err)
	}
	r.Results = results
	return r
}

func runUntil(ctx context.Context, n *node.Node, until virtual.Time, records int64, progress func(virtual.Time)) error {
	for t := min(virtual.At(chunk), until); ; t = min(t.Add(chunk), until) {
		if err := n.RunUntil(t); err != nil {
			return err
		}
		if progress != nil {
			progress(t)
		}
		switch {
		case n.Trace().Len() > records:
			return fmt.Errorf("stopped at %s: more than %d records; use fewer pods or a shorter duration", value.Format(t.Offset()), records)
		case t == until:
			return nil
		case ctx.Err() != nil:
			return ErrInterrupted
		}
	}
}

// checked returns the part of the result that the checks of expectations need.
func (r *Result) checked() expect.Run {
	return expect.Run{Records: r.Records, End: r.End, Internal: r.Internal}
}

// Alone marks this run as the only run of its scenario and version. Expectations with runs: some must then hold in this
// run.
func (r *Result) Alone() {
	for i := range r.Results {
		if r.Results[i].Outcome == expect.Unmet {
			r.Results[i].Outcome = expect.Failed
		}
	}
}
