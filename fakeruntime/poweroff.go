package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// What containerd says of a container that ran before it and of which it finds no process
// (internal/cri/server/restart.go and helpers.go of containerd 2.0).
const (
	codeUnknown   = 255
	reasonUnknown = "Unknown"
)

// PowerOff ends all processes and sandboxes at time now, as when the node goes down, because of a record. What is due
// up to now happens first; calls must have been broken off (Disconnect). The runtime finds at time back, when it is started
// again, that what ran has ended: nobody was there to see how. Containers that were not started stay as they are.
func (r *Runtime) PowerOff(now, back virtual.Time, cause int64) {
	r.run(now)
	for _, s := range slices.Clone(r.all.sandboxes) {
		if !s.Ready {
			continue
		}
		for _, c := range s.containers() {
			if c.State == Running {
				r.lose(c, back, cause)
			}
		}
		s.Ready, s.IP = false, ""
		r.change(s.pod)
	}
}

// lose is the exit of a process that nobody sees.
func (r *Runtime) lose(c *container, back virtual.Time, cause int64) {
	r.queue.cancel(&c.event)
	c.exit, c.killAt, c.killReason, c.stopping = exit{r.now, codeUnknown}, never, reasonUnknown, cause
	r.end(c)
	c.FinishedAt, c.found = r.Wall(back), back
}
