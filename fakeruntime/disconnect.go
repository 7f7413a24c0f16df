package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Disconnect ends all calls at time now, as when the kubelet dies. Events that are due until now
// happen first, but Advance no longer returns the calls. The runtime goes on with some of them
// (goesOn). Commands and requests end. No SIGKILL follows the grace period of a stop.
func (r *Runtime) Disconnect(now virtual.Time) {
	r.run(now)
	calls := r.calls()
	for _, e := range slices.Clone(r.queue.events) {
		if e.op != nil && (e.expires || e.op.Call.Method.asksProgram()) {
			r.queue.cancel(e)
		}
	}
	for _, op := range calls {
		if op.abandoned = true; !op.goesOn() && !op.Call.Method.asksProgram() {
			op.expiry = event{op: op, expires: true}
			r.queue.schedule(&op.expiry, now, expires) // unless PowerOff comes first
		}
	}
	for _, c := range r.all.containers {
		c.requests = nil
		r.abandonStops(c)
	}
	clear(r.done)
	r.done = r.done[:0]
}
