package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Disconnect breaks off the calls under way at time now, as when the kubelet dies that made them. What is due up to
// now happens first, but nobody hears of it: no call of before is handed out any more. What has not taken
// effect does not; commands and requests end, and nobody sends SIGKILL at the end of a grace period.
func (r *Runtime) Disconnect(now virtual.Time) {
	r.run(now)
	for _, q := range slices.Clone(r.queue.heap) {
		if q.op != nil {
			r.queue.cancel(q.event)
		}
	}
	for _, c := range r.all.containers {
		c.requests = nil
		r.abandon(c)
	}
	clear(r.done)
	r.done = r.done[:0]
}
