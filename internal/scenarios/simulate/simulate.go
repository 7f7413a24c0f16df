// Package simulate runs scenarios on the simulated node, checks their expectations, and returns the
// results to report.
package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options configure a run. With the zero value, the run follows the plan.
type Options struct {
	Until    virtual.Time        // virtual time at which the run ends; 0: the duration of the scenario
	Internal bool                // keep the internal records
	Sink     func(*trace.Record) // called with each record when it is written, unless nil
	Progress func(virtual.Time)  // called periodically with the virtual time, unless nil
	Chooser  choose.Chooser      // makes the choices of the run instead of the seed of the plan, unless nil

	// MaxMemory limits the memory of the records of a run (see trace.Recorder.Size), in bytes. A
	// run that exceeds it ends with a *node.MemoryError. 0: that of Limits.
	MaxMemory int64
	Limits    limit.Limits // zero: node.DefaultLimits

	Also     []trace.Kind       // internal kinds of records to keep besides the observable ones
	Started  func(n *node.Node) // called with the node before time passes, unless nil
	Unjudged bool               // do not check the expectations

	Engine Engine // makes the run instead of the simulated node, unless nil
}

// Engine makes a run to the end of its scenario. It calls start before time passes, passes the
// records of rules that decided something to use, and returns the trace.
type Engine func(plan *scenarios.Plan, internal bool, start func(drive.World), use func(*trace.Record)) (
	[]trace.Record, error)

// Result is a finished run.
type Result struct {
	Plan      *scenarios.Plan
	Records   []trace.Record
	Internal  bool                 // the internal records were kept, because of Options, an expectation or a step
	End       virtual.Time         // earlier than Options.Until if the run ended early
	Windows   []fakeruntime.Window // of the rules of programs
	Unreached []drive.Unreached
	Results   []expect.Result
	decided   map[decision]bool
	created   []*v1.Pod // by controllers
	Err       error     // why the run ended early: a limit, a bug in probesim, or ErrInterrupted
}

// Pods returns the pods of the run: those of the plan, and those that controllers created, with the
// template that their ReplicaSet had.
func (r *Result) Pods() []*v1.Pod { return slices.Concat(r.Plan.Specs(), r.created) }

// ErrInterrupted is the error of a run whose context was canceled.
var ErrInterrupted = errors.New("interrupted")

// chunk is the virtual time between two calls of Progress.
const chunk = time.Minute

// Run runs a plan and checks its expectations. The run ends early when the context is done. Run
// recovers from panics and returns them in Result.Err.
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
	if driver := r.make(ctx, o); driver != nil {
		r.finish(driver, !o.Unjudged)
	}
	return r
}

// make makes the run, and returns the driver of its steps. It returns nil if the run did not begin.
func (r *Result) make(ctx context.Context, o Options) (driver *drive.Driver) {
	plan := r.Plan
	known, ok := plan.Profile()
	if !ok {
		r.Err = fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
		return nil
	}
	if o.Engine != nil {
		r.Records, r.Err = o.Engine(plan, r.Internal, func(w drive.World) { driver = drive.Start(plan, w) }, r.use)
		r.End = o.Until
		for i := range r.Records {
			if o.Sink != nil {
				o.Sink(&r.Records[i])
			}
		}
		return driver
	}
	recorder := &trace.Recorder{Internal: r.Internal, Details: o.Internal || plan.Scenario.NeedsDetails(),
		Also: o.Also}
	if o.Sink != nil {
		recorder.Observe(o.Sink)
	}
	recorder.Rules = r.use
	limits := cmp.Or(o.Limits, node.DefaultLimits)
	limits.Memory = cmp.Or(o.MaxMemory, limits.Memory)
	interrupt := func() error {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		return nil
	}
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		Trace:  recorder,
		Limits: limits, Interrupt: interrupt, Chooser: o.Chooser, ControlPlane: plan.ControlPlane(),
	})
	defer n.Close()
	if o.Started != nil {
		o.Started(n)
	}
	driver = drive.Start(plan, n)
	r.Err = runUntil(n, o.Until, o.Progress, interrupt)
	n.EndRequests()
	r.End = min(n.Now(), o.Until)
	r.Records, r.Windows = recorder.Records(), n.Windows()
	return driver
}

// Observed returns the result of a run that was not simulated, from its records and the driver that
// took its steps.
func Observed(plan *scenarios.Plan, driver *drive.Driver, records []trace.Record, end virtual.Time, err error) *Result {
	r := &Result{Plan: plan, End: end, Err: err}
	for i := range records {
		switch {
		case records[i].Kind == trace.Behavior:
			r.use(&records[i])
		case records[i].Kind.Observable():
			r.Records = append(r.Records, records[i])
		}
	}
	r.finish(driver, true)
	return r
}

// finish takes over what the driver knows, and checks the expectations if they are to be judged.
func (r *Result) finish(driver *drive.Driver, judged bool) {
	r.created, r.Unreached = driver.Created(), driver.Unreached()
	if err := driver.Err(); err != nil {
		r.Err = errors.Join(r.Err, err)
	}
	if !judged {
		return
	}
	results, err := expect.Check(r.Plan, r.checked())
	if err != nil {
		r.Err = errors.Join(r.Err, err)
	}
	r.Results = results
}

func runUntil(n *node.Node, until virtual.Time, progress func(virtual.Time), interrupt func() error) error {
	for t := min(virtual.At(chunk), until); ; t = min(t.Add(chunk), until) {
		if err := n.RunUntil(t); err != nil {
			return err
		}
		if progress != nil {
			progress(t)
		}
		if t == until {
			return nil
		}
		if err := interrupt(); err != nil { // the kernel asks only every so many events
			return err
		}
	}
}

// checked returns the part of the result that the checks of expectations need.
func (r *Result) checked() expect.Run {
	return expect.Run{Records: r.Records, End: r.End, Internal: r.Internal}
}

// Alone marks this run as the only run of its scenario and version. Expectations with runs: some
// must then hold in this run.
func (r *Result) Alone() {
	for i := range r.Results {
		if r.Results[i].Outcome == report.Unmet {
			r.Results[i].Outcome = report.Failed
		}
	}
}
