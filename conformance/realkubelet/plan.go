package realkubelet

import (
	"errors"

	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// ErrStepClock says that a run cannot be made in which the wall clock jumps.
var ErrStepClock = errors.New("stepClock is not compared by this program: " +
	"conformance/README.md says under \"Steps of the wall clock\" how to build one that does")

// ForPlan returns the options with what the run of a scenario says. With a seed it also draws the kubelet's
// jitter, unless the options say how: a draw belongs to its time, so that no order of draws changes it.
func ForPlan(p *scenarios.Plan, o Options) Options {
	o.Uptime, o.Duration, o.Seed, o.Delays, o.Config = &p.Uptime, p.Duration, p.Seed, p.Delays, p.Config
	if p.Seed != nil {
		o.StartSeed = *p.Seed
		if o.Jitter == nil {
			seeded := choose.Seeded(*p.Seed)
			o.Jitter = func(t virtual.Time) float64 {
				return seeded.Fraction(choose.Choice{Kind: choose.Jitter, Key: t.String()})
			}
		}
	}
	return o
}
