package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Disconnect cancels all calls at time now, as when the kubelet dies. Events that are due until now
// happen first, but Advance no longer returns the calls. Calls that have not taken effect have
// none. Commands and requests end. No SIGKILL follows the grace period of a stop.
func (r *Runtime) Disconnect(now virtual.Time) {
	r.run(now)
	for _, q := range slices.Clone(r.queue.heap) {
		if q.op != nil {
			r.queue.cancel(q.event)
		}
	}
	for _, c := range r.all.containers {
		c.requests = nil
		r.abandonStops(c)
	}
	clear(r.done)
	r.done = r.done[:0]
}
