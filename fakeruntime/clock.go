package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
)

// Wall returns what the wall clock of the node says at a virtual time: the time since t=0 by the clock as it was then. It
// is the virtual time plus all steps of the clock up to now.
func (r *Runtime) Wall(t virtual.Time) virtual.Wall { return virtual.Wall(t).Add(r.ahead) }

// StepClock has the wall clock of the node jump at time now. Times that the runtime has told stay as they are.
func (r *Runtime) StepClock(now virtual.Time, by time.Duration) {
	r.run(now)
	r.ahead += by
	for _, c := range r.all.containers {
		if c.found > r.now {
			c.FinishedAt = c.FinishedAt.Add(by)
		}
	}
}
