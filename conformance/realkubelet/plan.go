package realkubelet

import (
	"errors"

	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

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
