package preview138

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/trace"
)

// change is the change of a probe of a container since the last sync of its pod.
type change struct {
	probe  trace.Probe
	action string
	probeChange
}

// changesOf returns the changes of the probes of a container, and notes the container for the next
// sync.
func (m *containerBoundManager) changesOf(pod *v1.Pod, c *v1.Container) (changes []change) {
	before, known := m.specs[slot{pod.UID, c.Name}]
	m.note(pod, c)
	if !known {
		return nil
	}
	for _, probe := range startOrder {
		was, is := prober.ProbeOf(before, probe), prober.ProbeOf(c, probe)
		switch {
		case was == nil && is == nil:
		case is == nil:
			changes = append(changes, change{probe: probe, action: probeRemoved})
		case was == nil:
			changes = append(changes, change{probe: probe, action: probeAdded})
		default:
			if of := compareProbes(was, is); of.any {
				changes = append(changes, change{probe, probeUpdated, of})
			}
		}
	}
	return changes
}

// note remembers a container whose probes can change.
func (m *containerBoundManager) note(pod *v1.Pod, c *v1.Container) {
	if m.Profile.MutableContainerProbes {
		m.specs[slot{pod.UID, c.Name}] = c
	}
}

// tell publishes the events about changes, before what follows from the changes. containerID is
// empty if the container does not run.
func (m *containerBoundManager) tell(changes []change, pod *v1.Pod, c *v1.Container, containerID string) {
	for _, of := range changes {
		probeChanged(&m.Options, pod, c, containerID, of.probe, of.action)
	}
}

// applyChanges makes the workers of an instance run the probes of its container as an update of the
// pod has them.
//
// The gates ContainerScopedProbes and MutableContainerProbes come from pull requests that do not
// know each other. What follows from both is the table of the design, for the workers of one
// instance (keps/sig-node/6318-mutable-container-probes/README.md in kubernetes/enhancements#6323,
// not compared).
func (m *containerBoundManager) applyChanges(changes []change, t *target) {
	for _, probe := range allProbes {
		if w := m.workers[t.key(probe)]; w != nil {
			w.target.pod, w.target.container = t.pod, t.container
		}
	}
	for _, of := range changes {
		w := m.workers[t.key(of.probe)]
		switch {
		case of.action == probeRemoved:
			if w != nil {
				m.stopWorker(w)
			}
			m.Results.Of(of.probe).Remove(t.containerID)
		case of.action == probeAdded && of.probe == trace.Startup: // the instance has started without the probe
			m.Results.Startup.Seed(t.containerID, results.Success)
		case w == nil: // the probe runs no more in this instance, or not yet
		case of.execution:
			m.replace(w)
		default:
			w.reschedule(of.probeChange)
		}
	}
}

// replace starts a worker for a new handler or timeout. If the probe has run in the instance, the
// new worker runs it at once, and discards the run in progress.
func (m *containerBoundManager) replace(w *containerBoundWorker) {
	m.stopWorker(w)
	m.replaced++
	after := newContainerBoundWorker(m, w.ProbeType, w.target)
	after.takesOver, after.atOnce, after.first = m.replaced, w.running || w.lastEnd != nil, w.first
	m.workers[after.Key()] = after
	after.proc = m.Sim.Go(after.processName(), after.run)
}

// reschedule takes over a probe whose handler and timeout stay.
func (w *containerBoundWorker) reschedule(change probeChange) {
	w.Configure(w.target.pod, w.target.container)
	if change.thresholds {
		w.ResetCount()
	}
	switch {
	case w.waiting && change.delay:
		w.postponed = true
		w.proc.Interrupt()
	case change.period && w.lastEnd != nil && !w.running:
		w.ticker.Reset(w.Period())
		if left := w.lastEnd.Add(w.Period()).Sub(w.Sim.Now()); left > 0 {
			w.ticker.Reset(left)
		} else {
			w.ticker.C.TrySend(struct{}{})
		}
	}
}
