package results

import (
	"slices"

	"probesim.dev/sim"
	"probesim.dev/trace"
)

// mutable is the part of a Manager that exists if the probes of running pods can change (from the
// source of kubernetes/kubernetes#142096 at 7862f4b, not compared:
// pkg/kubelet/prober/results/mutable_manager.go).
//
// Set never waits. While the channel is full, the manager keeps the newest update of each
// container. An update can be out of date when the sync loop receives it, so the sync loop asks
// IsCurrent.
type mutable struct {
	version int64
	pending []pending // oldest first, at most one for each container
}

type pending struct {
	update Update
	cause  int64
}

// NewMutableManager returns a Manager without results for probes that can change while a pod runs.
func NewMutableManager(s *sim.Sim, probe trace.Probe, recorder *trace.Recorder) *Manager {
	m := NewManager(s, probe, recorder)
	m.mutable = &mutable{}
	return m
}

// publish stores a result and sends its update as soon as the channel has room.
func (m *Manager) publish(p *sim.Proc, u Update, cause int64) {
	m.mutable.version++
	u.version = m.mutable.version
	m.cache[u.ContainerID] = entry{u.Result, cause, u}
	m.mutable.forget(u.ContainerID)
	m.mutable.pending = append(m.mutable.pending, pending{u, cause})
	m.send(p)
}

// send sends the pending updates that the channel has room for.
func (m *Manager) send(p *sim.Proc) {
	for len(m.mutable.pending) > 0 {
		first, sent := m.mutable.pending[0], false
		p.WithCause(first.cause, func() { sent = m.updates.TrySend(first.update) })
		if !sent {
			return
		}
		m.mutable.pending = m.mutable.pending[1:]
	}
}

func (m *mutable) forget(containerID string) {
	m.pending = slices.DeleteFunc(m.pending, func(w pending) bool { return w.update.ContainerID == containerID })
}

// IsCurrent reports whether an update that p has received is about the present result of its
// container. The channel has room then, so it also sends the next update. Without mutable probes,
// each update counts.
func (m *Manager) IsCurrent(p *sim.Proc, u Update) bool {
	if m.mutable == nil {
		return true
	}
	m.send(p)
	e, ok := m.cache[u.ContainerID]
	return ok && e.update == u
}
