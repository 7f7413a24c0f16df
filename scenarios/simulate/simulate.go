// Package simulate makes runs of scenarios on the simulated node, checks what they expect, and says what is to be
// reported of them.
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

// Options say how a run is made. The zero value is the run that the plan asks for.
type Options struct {
	Until    virtual.Time        // virtual time at which the run ends; 0: the duration of the scenario
	Internal bool                // keep the internal records too
	Sink     func(*trace.Record) // is handed each record as it is written; nil: nothing is
	Progress func(virtual.Time)  // is told the virtual time now and then; nil: nothing is
}

// Result is a run that was made.
type Result struct {
	Plan      *scenarios.Plan
	Records   []trace.Record
	Internal  bool         // the internal records were kept, as Options or an expectation asked for
	End       virtual.Time // before the end of the run if it ended early
	Unreached []scenarios.Unreached
	Results   []expect.Result
	Err       error // why it ended early: a limit was hit, the program is at fault, or ErrInterrupted
}

// ErrInterrupted ends a run that someone does not want to wait for.
var ErrInterrupted = errors.New("interrupted")

// chunk is how far a run goes before it looks whether it is still wanted.
const chunk = time.Minute

// maxRecords bounds the trace of a run, which is kept in memory: 300 bytes a record, 6 GB.
const maxRecords = 20_000_000

// Run makes a run and checks its expectations. It ends early when the context is done. A panic becomes the error of
// the run.
func Run(ctx context.Context, plan *scenarios.Plan, o Options) (r *Result) {
	if o.Until == 0 {
		o.Until = virtual.At(plan.Duration)
	}
	r = &Result{Plan: plan, Internal: o.Internal || expect.Internal(plan.Scenario)}
	defer func() {
		if p := recover(); p != nil {
			r.Err = fmt.Errorf("probesim is at fault, please report it with the scenario: panic: %v\n%s", p, debug.Stack())
		}
	}()
	known, ok := plan.Profile()
	if !ok {
		r.Err = fmt.Errorf("there is no profile of Kubernetes %s", plan.Version)
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
			return fmt.Errorf("stopped at %s: more than %d records; fewer pods or a shorter duration make a smaller trace", value.Format(t.Offset()), records)
		case t == until:
			return nil
		case ctx.Err() != nil:
			return ErrInterrupted
		}
	}
}

// checked is what expectations are checked against.
func (r *Result) checked() expect.Run {
	return expect.Run{Records: r.Records, End: r.End, Internal: r.Internal}
}

// Alone says that this run is the only one of its scenario and version: an expectation that some run must hold is to
// hold in this one.
func (r *Result) Alone() {
	for i := range r.Results {
		if r.Results[i].Outcome == expect.Unmet {
			r.Results[i].Outcome = expect.Failed
		}
	}
}
