package fakeruntime

import "time"

// Wall converts a virtual time to wall time: the time since t=0 on the wall clock of the node. It is the
// virtual time plus all steps of the clock until now.
func (r *Runtime) Wall(t time.Duration) time.Duration { return t + r.clockOffset }

// StepClock moves the wall clock of the node by an amount at time now. Timestamps that the runtime has
// reported do not change.
func (r *Runtime) StepClock(now, by time.Duration) {
	r.run(now)
	r.clockOffset += by
	for _, c := range r.all.containers {
		if c.foundAt > r.now {
			c.FinishedAt += by
		}
	}
}
