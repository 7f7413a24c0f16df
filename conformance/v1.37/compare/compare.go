// Package compare runs a scenario on the real kubelet and has the simulator follow what it did.
package compare

import (
	"testing"
	"time"

	"probesim.dev/conformance/v1.37/realkubelet"
	"probesim.dev/scenarios"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/explore"
	"probesim.dev/sim/node"
	"probesim.dev/sim/profile"
	"probesim.dev/sim/trace"
)

// Options say how to compare. The zero value draws no jitter and no orders.
type Options struct {
	// Seed draws the jitters of the real kubelet; nil: each is the middle.
	Seed *int64
	// Procs is how many of the real kubelet's goroutines run at once; see realkubelet.Options.
	Procs  int
	Budget int // how many simulated runs to spend on following; 0: the default of package explore
}

// Outcome is what came of a comparison.
type Outcome struct {
	Plan *scenarios.Plan
	Real []trace.Record
	explore.Result
	RealTime, SimTime time.Duration // wall time of the real run, and of all simulated ones
}

// Equal reports whether every record of the real kubelet is explained.
func (o *Outcome) Equal() bool { return o.Divergence == nil }

// Plan compares one run of a scenario.
func Plan(t *testing.T, p *scenarios.Plan, o Options) (*Outcome, error) {
	start := time.Now()
	real, err := Real(t, p, o, false)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Plan: p, Real: real.Records, RealTime: time.Since(start)}
	start = time.Now()
	draws := map[time.Duration]float64{}
	for _, d := range real.Draws {
		draws[d.T] = d.Value
	}
	out.Result = explore.Follow(explore.Options{
		Run: func(c sim.Chooser, clock func(func() time.Duration), until time.Duration, internal bool) ([]trace.Record, error) {
			return simulate(p, c, clock, until, internal)
		},
		Want:     real.Records,
		Duration: p.Duration,
		Fraction: func(t time.Duration) (float64, bool) { f, ok := draws[t]; return f, ok },
		Starts:   real.StartDraws,
		Budget:   o.Budget,
	})
	out.SimTime = time.Since(start)
	return out, nil
}

// Real runs a plan on the real kubelet.
func Real(t *testing.T, p *scenarios.Plan, o Options, internal bool) (*realkubelet.Result, error) {
	opts := realkubelet.Options{
		Uptime: &p.Uptime, Duration: p.Duration, Seed: p.Seed, Delays: p.Delays, Internal: internal, Procs: o.Procs,
	}
	if o.Seed != nil {
		seed := choose.Seeded(*o.Seed)
		opts.StartSeed = *o.Seed
		opts.Jitter = func(t time.Duration) float64 {
			return seed.Fraction(sim.Choice{Kind: sim.Jitter, Key: t.String()})
		}
	}
	return realkubelet.Run(t, opts, func(w scenarios.World) { p.Drive(w) })
}

func simulate(p *scenarios.Plan, c sim.Chooser, clock func(func() time.Duration), until time.Duration, internal bool) ([]trace.Record, error) {
	version, _ := profile.Named(p.Version)
	n := node.New(node.Options{
		Profile: version, Uptime: &p.Uptime, Seed: p.Seed, Delays: p.Delays, Chooser: c,
		Trace: &trace.Recorder{Internal: internal},
	})
	defer n.Close()
	clock(n.Now)
	p.Drive(n)
	err := n.RunUntil(until)
	return n.Trace().Records(), err
}
