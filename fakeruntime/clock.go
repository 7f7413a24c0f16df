package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
)

// Wall converts a virtual time to the wall time on the node. It is the
// virtual time plus all steps of the clock until now.
func (r *Runtime) Wall(t virtual.Time) virtual.Wall { return virtual.Wall(t).Add(r.clockOffset) }

// StepClock moves the wall clock of the node by an amount at time now. Timestamps that the runtime
// has reported do not change.
func (r *Runtime) StepClock(now virtual.Time, by time.Duration) {
	r.run(now)
	r.clockOffset += by
	for _, c := range r.all.containers {
		if c.foundAt > r.now {
			c.FinishedAt = c.FinishedAt.Add(by)
		}
	}
}
