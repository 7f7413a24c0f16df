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

	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/value"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
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

	// MaxMemory limits the memory of a run, in bytes: of its records (see trace.Recorder.Size), and
	// about 5 KB for each pod, container and probe. A run that exceeds it ends with a
	// *node.MemoryError or ErrTooLarge. 0: node.DefaultLimits.Memory.
	MaxMemory int64
	// Reserve, unless nil, is called each time the run needs more memory, with the number of
	// additional bytes. It may wait until other runs have freed memory. If it returns an error, the
	// run ends early with this error.
	Reserve func(bytes int64) error
}

// Result is a finished run.
type Result struct {
	Plan      *scenarios.Plan
	Records   []trace.Record
	Internal  bool         // the internal records were kept, because of Options, an expectation or a step
	End       virtual.Time // earlier than Options.Until if the run ended early
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

// ErrTooLarge is the error of a run whose pods or trace take more memory than the run may take.
var ErrTooLarge = errors.New("the run takes too much memory")

// chunk is the virtual time between two calls of Progress.
const chunk = time.Minute

// partSize is the memory that the simulation of a pod, a container or a probe takes on average, in
// bytes.
const partSize = 5000

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
	known, ok := plan.Profile()
	if !ok {
		r.Err = fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
		return r
	}
	recorder := &trace.Recorder{Internal: r.Internal, Details: o.Internal || plan.Scenario.NeedsDetails()}
	if o.Sink != nil {
		recorder.Observe(o.Sink)
	}
	recorder.Rules = r.use
	limits := node.DefaultLimits
	parts := int64(plan.Scenario.Parts()) * partSize
	if limits.Memory = cmp.Or(o.MaxMemory, limits.Memory) - parts; limits.Memory <= 0 {
		r.Err = fmt.Errorf("%w: %d pods, containers and probes take about %d MB; use fewer pods", ErrTooLarge,
			parts/partSize, parts/1e6)
		return r
	}
	if o.Reserve != nil {
		if r.Err = o.Reserve(parts); r.Err != nil {
			return r
		}
	}
	interrupt := o.interrupt(ctx, recorder)
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		Trace:  recorder,
		Limits: limits, Interrupt: interrupt, Chooser: o.Chooser, ControlPlane: plan.ControlPlane(),
	})
	defer n.Close()
	driver := drive.Start(plan, n)
	r.Err = runUntil(n, o.Until, o.Progress, foreseeing(plan, recorder, limits.Memory, o.Until, interrupt))
	r.End = min(n.Now(), o.Until)
	r.Records, r.created = recorder.Records(), driver.Created()
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

// interrupt returns the function that ends a run when ctx is done or when Reserve has failed.
func (o *Options) interrupt(ctx context.Context, recorder *trace.Recorder) func() error {
	var reserved int64
	var failed error
	if o.Reserve != nil {
		recorder.OnGrowth(func(size int64) {
			if failed == nil {
				failed = o.Reserve(size - reserved)
			}
			reserved = size
		})
	}
	return func() error {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		return failed
	}
}

// steady is a part of a run in which its trace grows as evenly as it will: pods have started, and
// back-offs have reached their maximum.
var steady = [2]virtual.Time{virtual.At(20 * time.Minute), virtual.At(40 * time.Minute)}

// foreseeing returns a function that also ends a run early if its trace will be half as large again
// as the memory, unless steps change how it grows.
func foreseeing(plan *scenarios.Plan, recorder *trace.Recorder, memory int64, until virtual.Time,
	interrupt func() error) func(virtual.Time) error {
	var began int64
	return func(t virtual.Time) error {
		switch n := recorder.Len(); {
		case len(plan.Scenario.Spec.Steps) > 0:
		case t == steady[0]:
			began = n
		case t == steady[1]:
			foreseen := float64(recorder.Size()) +
				float64((n-began)*trace.RecordSize)*float64(until.Sub(t))/float64(steady[1].Sub(steady[0]))
			if foreseen > 1.5*float64(memory) {
				return fmt.Errorf("%w: the trace of %s takes about %.0f MB; use fewer pods, a longer period or a "+
					"shorter duration",
					ErrTooLarge, value.Format(until.Offset()), foreseen/1e6)
			}
		}
		return interrupt()
	}
}

func runUntil(n *node.Node, until virtual.Time, progress func(virtual.Time), interrupt func(virtual.Time) error) error {
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
		if err := interrupt(t); err != nil { // the kernel asks only every so many events
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
		if r.Results[i].Outcome == expect.Unmet {
			r.Results[i].Outcome = expect.Failed
		}
	}
}
