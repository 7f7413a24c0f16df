package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// The status that containerd reports for a container whose process it does not find after its start
// (internal/cri/server/restart.go and helpers.go of containerd 2.0).
const (
	codeUnknown   = 255
	reasonUnknown = "Unknown"
)

// PowerOff ends all processes and sandboxes at time now, as when the node goes down. The cause is
// the step of a record. Events that are due until now happen first; the driver must have called
// Disconnect. The runtime starts again at time back, and only then finds that the processes have
// ended, with an unknown exit code. Containers that were not started do not change.
func (r *Runtime) PowerOff(now, back virtual.Time, cause int64) {
	for _, op := range r.calls() {
		r.queue.cancel(&op.event)
		r.queue.cancel(&op.expiry)
		op.release()
	}
	r.run(now)
	for _, s := range slices.Clone(r.all.sandboxes) {
		if !s.Ready {
			continue
		}
		for _, c := range s.containers() {
			if c.State == Running {
				r.exitUnobserved(c, back, cause)
			}
		}
		s.Ready, s.IP = false, ""
		r.markChanged(s.pod)
	}
}

// exitUnobserved ends a process whose exit the runtime does not observe.
func (r *Runtime) exitUnobserved(c *container, back virtual.Time, cause int64) {
	r.queue.cancel(&c.event)
	c.exit, c.killAt, c.killReason, c.stopping = exit{at: r.now, code: codeUnknown}, never, reasonUnknown, cause
	r.end(c)
	c.FinishedAt, c.foundAt = r.Wall(back), back
}
