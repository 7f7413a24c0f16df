package fakeruntime

import (
	"slices"
	"time"
)

// Disconnect breaks off the calls under way at time now, as when the kubelet dies that made them. What is due up to
// now happens first, but nobody hears of it: no call of before is handed out any more. What has not taken
// effect does not; commands and requests end. As in containerd, a container that has the stop signal does not get SIGKILL at the
// end of its grace period, because that is what StopContainer waits for.
func (r *Runtime) Disconnect(now time.Duration) {
	r.run(now)
	for _, q := range slices.Clone(r.queue.heap) {
		if q.op != nil {
			r.queue.cancel(q.event)
		}
	}
	for _, c := range r.all.containers {
		c.requests = nil
		if len(c.stops) > 0 {
			c.stops, c.killAt = nil, never
			r.scheduleEnd(c)
		}
	}
	clear(r.done)
	r.done = r.done[:0]
}
