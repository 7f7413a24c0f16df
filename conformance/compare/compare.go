// Package compare runs a scenario on the real kubelet, and searches for choices with which the
// simulator produces the same trace.
package compare

import (
	"fmt"
	"testing"
	"time"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/proof/search"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// Options configure a comparison. The zero value works.
type Options struct {
	// JitterSeed seeds the jitter of the real kubelet. If nil, the seed of the run does; without a
	// seed, each jitter has its middle value.
	JitterSeed *int64
	// Jitter returns the jitter that the real kubelet draws at a time, from 0 to below 1, if
	// JitterSeed is nil. It may be nil.
	Jitter func(virtual.Time) float64
	// Procs is the number of the real kubelet's goroutines that run in parallel; see
	// realkubelet.Options.
	Procs  int
	Budget int // maximum number of simulated runs; 0 means the default of package search
	// Profile is the behavior of the simulator. If nil, it is the profile of the run's Kubernetes
	// version.
	Profile *profile.Profile
	// Internal keeps the calls to the container runtime and the API server; see Outcome.Calls.
	Internal bool
	// Step is called before the real run and before each simulated run. If it returns an error, the
	// comparison ends.
	Step func() error
}

// Outcome is the result of a comparison.
type Outcome struct {
	search.Result
	Plan *scenarios.Plan
	Real []trace.Record // the trace of the real kubelet
	want []trace.Record // the records of Real that are compared
	// Wall time of the real run, of the shortest of several simulated runs of the same plan, and of
	// the whole search.
	RealTime, SimTime, FollowTime time.Duration
}

// Equal reports whether the simulator explains every record of the real kubelet.
func (o *Outcome) Equal() bool { return o.Divergence == nil }

// Plan compares one run of a scenario. It returns an error if the real run fails or Step returns an
// error.
func Plan(t *testing.T, p *scenarios.Plan, o Options) (*Outcome, error) {
	version, ok := p.Profile()
	switch {
	case o.Profile != nil:
		version = *o.Profile
	case !ok:
		return nil, fmt.Errorf("the simulator does not know Kubernetes %s", p.Version)
	}
	c := &comparison{plan: p, Options: o, profile: version}
	real, wall, err := c.real(t)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Plan: p, Real: real.Records, want: compared(real.Records), RealTime: wall, SimTime: c.simTime()}
	start := time.Now()
	out.Result = search.Follow(c.follow(real, out.want))
	out.FollowTime = time.Since(start)
	return out, c.err
}

// comparison is a comparison in progress.
type comparison struct {
	Options
	plan    *scenarios.Plan
	profile profile.Profile
	err     error // first error of Step
}

// step calls Step, and returns its first error.
func (c *comparison) step() error {
	if c.Step != nil && c.err == nil {
		c.err = c.Step()
	}
	return c.err
}

// real runs the plan on the real kubelet and measures the wall time.
func (c *comparison) real(t *testing.T) (*realkubelet.Result, time.Duration, error) {
	if err := c.step(); err != nil {
		return nil, 0, err
	}
	opts := realkubelet.ForPlan(c.plan, realkubelet.Options{
		Internal: c.Internal, Details: true, Triggers: true, Procs: c.Procs, Jitter: c.Jitter,
	})
	if c.JitterSeed != nil {
		opts.StartSeed, opts.Jitter = *c.JitterSeed, realkubelet.SeededJitter(*c.JitterSeed)
	}
	start := time.Now()
	result, err := realkubelet.Run(t, opts, func(w drive.World) { drive.Start(c.plan, w) })
	return result, time.Since(start), err
}

// compared returns the records that the comparison covers: all but the events of controllers, and
// losses that end when they begin. client-go combines similar events of an object, and sends only
// some of many, which the simulator does not. If two containers of a pod change at one instant,
// their order decides whether the pod refuses requests in between.
func compared(records []trace.Record) []trace.Record {
	momentary := map[loss]int{}
	for i := range records {
		if r := &records[i]; r.Kind == trace.LossEnded && r.Took == 0 && r.Reason != traffic.InFlight {
			momentary[lossOf(r)]++
		}
	}
	var list []trace.Record
	failed := map[string]virtual.Time{}
	for _, r := range records {
		switch {
		case r.Kind == trace.LossStarted && momentary[lossOf(&r)] > 0:
			momentary[lossOf(&r)]--
			continue
		case r.Kind == trace.LossEnded && r.Took == 0 && r.Reason != traffic.InFlight, r.Kind == trace.Event &&
			r.Object != nil:
			continue
		case r.Kind == trace.SyncFailed:
			key := r.Reason + " " + r.Object.Name
			if at, again := failed[key]; r.Reason == "replicaset" || again && at == r.T {
				continue
			}
			failed[key] = r.T
			r.Kind, r.Message, r.Cause = trace.Event, "", 0 // an observable kind
		}
		list = append(list, r)
	}
	return list
}

// loss identifies a loss of requests.
type loss struct {
	at                           virtual.Time
	service, router, pod, reason string
}

func lossOf(r *trace.Record) loss {
	return loss{r.T, r.Object.Name, r.Object.Loss.Router, r.Pod, r.Reason}
}

// follow returns the options to follow a run of the real kubelet.
func (c *comparison) follow(real *realkubelet.Result, want []trace.Record) search.Options {
	var requeues []search.Requeue
	for _, d := range real.Draws {
		if d.Requeue {
			requeues = append(requeues, search.Requeue{T: d.T, Fraction: d.Value})
		}
	}
	return search.Options{
		Log: real.Turns, Run: c.simulate, Want: want, Duration: c.plan.Duration, Requeues: requeues,
		Starts: real.Starts, Budget: c.Budget,
	}
}

// simulate implements search.Run.
func (c *comparison) simulate(ch choose.Chooser, clock func(func() virtual.Time), until virtual.Time,
	internal bool) ([]trace.Record, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	n := c.node(ch, internal)
	defer n.Close()
	clock(n.Now)
	drive.Start(c.plan, n)
	err := n.RunUntil(until)
	return compared(n.Trace().Records()), err
}

// simTime returns the wall time of one simulated run: the shortest of three. The first run takes
// about twice as long, because the real kubelet has just used the caches of the processor. The real
// kubelet runs for so long that this does not matter to it.
func (c *comparison) simTime() time.Duration {
	return min(c.timeOneRun(), c.timeOneRun(), c.timeOneRun())
}

// timeOneRun measures the wall time of one simulated run that follows no trace.
func (c *comparison) timeOneRun() time.Duration {
	start := time.Now()
	n := c.node(nil, false)
	defer n.Close()
	drive.Start(c.plan, n)
	_ = n.RunUntil(virtual.At(c.plan.Duration)) // the search reports a run that ends early
	return time.Since(start)
}

func (c *comparison) node(ch choose.Chooser, internal bool) *node.Node {
	return node.New(node.Options{
		Profile: c.profile, Uptime: &c.plan.Uptime, Seed: c.plan.Seed, Delays: c.plan.Delays, Config: c.plan.Config,
		Chooser:      ch,
		ControlPlane: c.plan.ControlPlane(),
		Trace: &trace.Recorder{Internal: internal, Details: true,
			Also: []trace.Kind{trace.TriggerTaken, trace.SyncFailed}},
	})
}
