package realkubelet

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/mount-utils"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/proof/search"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/kube/kubeletconfig"
	simulator "probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// DefaultUptime is the age of the kubelet at t=0 if Options.Uptime is nil.
const DefaultUptime = 150337 * time.Millisecond

// DefaultDuration is the duration of a run if Options.Duration is 0.
const DefaultDuration = 10 * time.Minute

// Options configure a run. The zero value works.
type Options struct {
	// Uptime is the age of the kubelet at t=0. Nil means DefaultUptime. The kubelet starts at a
	// whole second of wall time.
	Uptime *time.Duration
	// Duration is the virtual time from t=0 to the end of the run, inclusive. 0 means
	// DefaultDuration.
	Duration time.Duration
	// Seed and Delays configure the fakeruntime.
	Seed   *int64
	Delays fakeruntime.Delays
	// Config has the settings of the kubelet.
	Config kubeletconfig.Config
	// Internal keeps a CRICall record for every call to the runtime, and for every call about pods
	// to the API server.
	Internal bool
	// Details adds the details of statuses.
	Details bool
	// Triggers keeps a TriggerTaken record each time a probe worker takes its manual trigger, and a
	// SyncFailed record each time a sync of a controller fails. Internal implies it.
	Triggers bool
	// Rules receives a record for each rule of a program that decided something, unless nil.
	Rules func(*trace.Record)
	// Jitter returns the fraction that wait.Jitter draws at time t: at least 0 and less than 1. Nil
	// means always DefaultJitter.
	Jitter func(t virtual.Time) float64
	// ControlPlane runs the real controllers beside the kubelet. Nil: there are none.
	ControlPlane *simulator.ControlPlane
	// Procs is the number of the kubelet's goroutines that run in parallel. 0 means 1: each
	// goroutine runs until it blocks, and runs are repeatable. Larger values produce other orders
	// of the events at one instant.
	Procs int
	// StartSeed seeds the delays before the first runs of probe workers that start while the
	// kubelet is younger than their period. See Result.Starts.
	StartSeed int64
}

// Result is the result of a run.
type Result struct {
	Records []trace.Record
	// Draws are the draws of wait.Jitter, in order.
	Draws []Draw
	// Starts are the draws of the young probe workers, and the first runs of all probe workers, for
	// each kubelet that was started.
	Starts []search.Start
	// Turns are the order in which goroutines of the kubelet ran, as far as its log and its calls
	// show it.
	Turns []search.Turn
}

// Run runs a kubelet under virtual time. Before the kubelet starts, Run calls drive, which
// schedules the actions of the scenario. These actions must not block. Concurrent calls of Run in
// one process wait for each other.
func Run(t *testing.T, opts Options, drive func(drive.World)) (*Result, error) {
	if opts.Uptime == nil {
		opts.Uptime = new(DefaultUptime)
	}
	if opts.Duration == 0 {
		opts.Duration = DefaultDuration
	}
	root, err := os.MkdirTemp("", "probesim-kubelet-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(opts.Procs, 1)))
	result := &Result{}
	draws := &jitter{draw: opts.Jitter}
	err = inBubble(t, func() func() float64 { return draws.next }, func() error {
		return run(opts, root, draws, drive, result)
	})
	return result, err
}

// run executes a run inside the bubble.
func run(opts Options, root string, draws *jitter, drive func(drive.World), result *Result) error {
	profile, restoreGates, err := setGates(opts.Config.FeatureGates)
	if err != nil {
		return err
	}
	defer restoreGates()
	rec := &recorder{trace: trace.Recorder{Internal: opts.Internal, Details: opts.Details, Rules: opts.Rules}}
	if opts.Triggers {
		rec.trace.Also = []trace.Kind{trace.TriggerTaken, trace.SyncFailed}
	}
	d := newDriver(time.Now().Add(*opts.Uptime), rec, fakeruntime.Options{
		Seed: opts.Seed, Delays: opts.Delays, Record: rec.add, RecordCalls: opts.Internal,
		RecordRules: opts.Rules != nil,
	})
	rec.now, draws.now = d.now, d.now

	api := newPodAPI(d, profile, nodeObject(sizeOf(opts.Config)))
	n := &node{driver: d, turns: newTurnLog(d.now), api: api, root: root, seed: opts.StartSeed,
		config: opts.Config, mounter: mount.NewFakeMounter(nil), configs: &configs{}}
	w := &world{driver: d, api: api, node: n}
	draws.counts = func() bool { return !n.calledByStopped() }
	d.at(d.now(), n.seedStart) // after the kubelet's informers have drawn their timeouts
	if opts.ControlPlane != nil {
		if err := startControlPlane(opts.ControlPlane, opts.Config.Allocatable, api, n.turns); err != nil {
			return err
		}
		defer api.control.cancel()
	}
	drive(w)

	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	if err := n.start(ctx); err != nil {
		return err
	}
	go d.run(virtual.At(opts.Duration))
	<-d.ended
	defer d.end()

	result.Records, result.Draws, result.Starts = rec.close(), draws.close(), n.starts()
	result.Turns = n.turns.close()
	return errors.Join(w.err, n.err)
}

// ErrStepClock is the error for a scenario with clock steps in a program that was built without the
// overlay.
var ErrStepClock = errors.New("this program cannot run scenarios with stepClock: build it with the overlay, see " +
	"conformance/README.md")

// Refuse returns why this program cannot run a scenario, or nil.
func Refuse(s *scenarios.Scenario) error {
	if s.StepsClock() && !Overlay {
		return ErrStepClock
	}
	return nil
}

// ForPlan returns the options with the settings of a scenario's run. If the run has a seed and the
// options do not set Jitter, the seed draws the kubelet's jitter.
func ForPlan(p *scenarios.Plan, o Options) Options {
	o.Uptime, o.Duration, o.Seed, o.Delays, o.Config = &p.Uptime, p.Duration, p.Seed, p.Delays, p.Config
	o.ControlPlane = p.ControlPlane()
	o.Details = o.Details || p.Scenario.NeedsDetails()
	if p.Seed != nil {
		o.StartSeed = *p.Seed
		if o.Jitter == nil {
			o.Jitter = SeededJitter(*p.Seed)
		}
	}
	return o
}

// SeededJitter returns jitter that depends only on the seed and the time.
func SeededJitter(seed int64) func(virtual.Time) float64 {
	seeded := choose.Seeded(seed)
	return func(t virtual.Time) float64 {
		return seeded.Fraction(choose.Choice{Kind: choose.Jitter, Key: t.String()})
	}
}
