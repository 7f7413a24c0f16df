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
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// DefaultUptime is the age of the kubelet at t=0 unless Options say otherwise.
const DefaultUptime = 150337 * time.Millisecond

// DefaultDuration is how long a run lasts unless Options say otherwise.
const DefaultDuration = 10 * time.Minute

// Options of a run. The zero value works.
type Options struct {
	// Uptime is the age of the kubelet at t=0, DefaultUptime if nil. It starts at a whole second of wall time.
	Uptime *time.Duration
	// Duration is the virtual time to run from t=0, its last instant included. 0 means DefaultDuration.
	Duration time.Duration
	// Seed and Delays are those of the fakeruntime.
	Seed   *int64
	Delays fakeruntime.Delays
	// Config are the settings of the kubelet.
	Config kubeletconfig.Config
	// Internal keeps a CRICall record of every call to the runtime and about pods to the API server.
	Internal bool
	// Triggers keeps a TriggerTaken record each time that a probe worker takes its manual trigger, as Internal does too.
	Triggers bool
	// Jitter returns the part of a jitter that wait.Jitter draws at time t, from 0 up to, not including,
	// 1. Nil: always DefaultJitter.
	Jitter func(t virtual.Time) float64
	// Procs is how many of the kubelet's goroutines run at once. 0 means 1, with which each runs until it
	// blocks and runs repeat; with more, other orders of what happens at one instant come up.
	Procs int
	// StartSeed seeds the delays before the first run of the probe workers that start while the kubelet
	// is younger than their period. See Result.StartDraws.
	StartSeed int64
}

// Result is what a run gave.
type Result struct {
	Records []trace.Record
	// Draws are what wait.Jitter drew, in the order in which it did.
	Draws []Draw
	// StartDraws are what the young probe workers of each kubelet drew that was started.
	StartDraws []StartDraws
}

// StartDraws are the parts of their period, from 0 to 1, that the young probe workers of a kubelet waited for before
// their first run, in the order in which they drew them, and when each of its workers, young or not, ran first.
type StartDraws struct {
	T      virtual.Time // when the kubelet was started
	Values []float64
	Runs   []FirstRun
}

// Run runs a kubelet under virtual time. Before the kubelet starts it calls drive, which puts on the agenda
// of the world what is to happen. What drive has the world do must not block. Runs follow each other in a
// process: a second waits for the first.
func Run(t *testing.T, opts Options, drive func(scenarios.World)) (*Result, error) {
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

// run is a run inside the bubble.
func run(opts Options, root string, draws *jitter, drive func(scenarios.World), result *Result) error {
	profile, restoreGates, err := setGates(opts.Config.FeatureGates)
	if err != nil {
		return err
	}
	defer restoreGates()
	rec := &recorder{trace: trace.Recorder{Internal: opts.Internal}}
	if opts.Triggers {
		rec.trace.Also = trace.TriggerTaken
	}
	d := newDriver(time.Now().Add(*opts.Uptime), fakeruntime.Options{
		Seed: opts.Seed, Delays: opts.Delays, Record: rec.add, RecordCalls: opts.Internal,
	})
	rec.now, draws.now = d.now, d.now

	api := newPodAPI(d, rec, profile)
	n := &node{driver: d, recorder: rec, api: api, root: root, seed: opts.StartSeed, config: opts.Config, mounter: mount.NewFakeMounter(nil), configs: newConfigs()}
	w := &world{driver: d, recorder: rec, api: api, node: n}
	draws.counts = func() bool { return !n.ofStopped() }
	d.at(d.now(), n.seedStart) // when the kubelet's informers have drawn their timeouts
	drive(w)

	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	if err := n.start(ctx); err != nil {
		return err
	}
	go d.run(virtual.At(opts.Duration))
	<-d.ended
	defer d.end()

	result.Records, result.Draws, result.StartDraws = rec.close(), draws.close(), n.startDraws()
	return errors.Join(w.err, n.err)
}
