package prober

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// applyChanges makes the workers of an instance run the probes of its container as an update of the pod has them.
//
// The gates ContainerScopedProbes and MutableContainerProbes come from pull requests that do not know each other. What follows from both
// is the table of the design, for the workers of one instance (keps/sig-node/6318-mutable-container-probes/README.md in
// kubernetes/enhancements#6323, not compared).
func (m *containerBoundManager) applyChanges(p *sim.Proc, t *target) {
	before, known := m.specs[t.slot()]
	if !known {
		return
	}
	for _, probe := range []trace.Probe{trace.Startup, trace.Readiness, trace.Liveness} {
		w := m.workers[t.key(probe)]
		if w != nil {
			w.target.pod, w.target.container = t.pod, t.container
		}
		was, is := specOf(before, probe), specOf(t.container, probe)
		switch {
		case was == nil && is == nil:
		case is == nil:
			m.probeChanged(t.pod, t.container, t.containerID, probe, probeRemoved)
			if w != nil {
				m.stopWorker(w)
			}
			m.results.of(probe).Remove(t.containerID)
		case was == nil:
			m.probeChanged(t.pod, t.container, t.containerID, probe, probeAdded)
			if probe == trace.Startup { // the instance has started without the probe
				m.results.Startup.Seed(t.containerID, results.Success)
			}
		default:
			m.applyChange(w, was, is, t, probe)
		}
	}
}

// applyChange applies the change of a probe to its worker, nil if the probe has no worker now. Its result stays.
func (m *containerBoundManager) applyChange(w *containerBoundWorker, was, is *v1.Probe, t *target, probe trace.Probe) {
	change := compareProbes(was, is)
	if !change.any {
		return
	}
	m.probeChanged(t.pod, t.container, t.containerID, probe, probeUpdated)
	switch {
	case w == nil:
	case change.execution:
		m.replace(w)
	default:
		w.reschedule(change)
	}
}

// replace starts a worker for a new handler or timeout. If the probe has run in the instance, the new worker runs it at once, and discards the
// run in progress.
func (m *containerBoundManager) replace(w *containerBoundWorker) {
	m.stopWorker(w)
	m.replaced++
	after := newContainerBoundWorker(m, w.probeType, w.target)
	after.takesOver, after.atOnce = m.replaced, w.running || w.lastEnd != nil
	m.workers[after.key()] = after
	after.proc = m.sim.Go(after.processName(), after.run)
}

// reschedule takes over a probe whose handler and timeout stay.
func (w *containerBoundWorker) reschedule(change probeChange) {
	w.configure(w.target.pod, w.target.container)
	if change.thresholds {
		w.lastResult, w.resultRun = results.Unknown, 0
	}
	switch {
	case w.waiting && change.delay:
		w.postponed = true
		w.proc.Interrupt()
	case change.period && w.lastEnd != nil && !w.running:
		w.ticker.Reset(w.period())
		if left := w.lastEnd.Add(w.period()).Sub(w.sim.Now()); left > 0 {
			w.ticker.Reset(left)
		} else {
			w.ticker.C.TrySend(struct{}{})
		}
	}
}
