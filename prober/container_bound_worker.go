package prober

import (
	"fmt"
	"time"

	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// containerBoundWorker runs one probe of one instance of a container, from the end of its initial delay until the instance is stopped,
// its startup probe has a result, or its liveness probe has failed (from the source of kubernetes/kubernetes#140704, not compared:
// pkg/kubelet/prober/container_bound_worker.go).
type containerBoundWorker struct {
	manager *containerBoundManager
	target  target
	execution

	proc    *sim.Proc
	waiting bool // for the first run
	ticker  *sim.Ticker
	stopped *sim.Chan[struct{}]
}

func newContainerBoundWorker(m *containerBoundManager, probe trace.Probe, t target) *containerBoundWorker {
	w := &containerBoundWorker{manager: m, target: t, execution: newExecution(&m.environment, t.pod, t.container, probe)}
	w.containerID = t.containerID
	w.recorder.newContainer(t.containerID)
	w.stopped = sim.NewChan[struct{}](m.sim, "stop of "+w.processName(), 1)
	return w
}

// processName contains the instance, because the worker of an instance that was replaced may still be running its last probe.
func (w *containerBoundWorker) processName() string {
	return fmt.Sprintf("%s#%d", WorkerName(w.probeType, w.recorder.pod, w.name), w.recorder.instance)
}

// run starts the worker's process: it waits for the first run, and then probes at each tick, which count from there.
func (w *containerBoundWorker) run(p *sim.Proc) {
	p.SetCause(0) // the runs are not a consequence of the sync that created the worker
	w.wait(p, w.firstProbeDelay(p))
	w.ticker = p.Sim().NewTicker("tick of "+p.Name(), w.period())
	p.Serve(sim.OnTick(w.ticker, w.onTick), sim.On(w.stopped, func(p *sim.Proc, _ struct{}) { w.end(p) }))
	w.onTick(p)
}

// firstProbeDelay returns what is left of the initial delay. The worker of an adopted instance adds a random part of the period, so
// that a restarted kubelet spreads its probes over time.
func (w *containerBoundWorker) firstProbeDelay(p *sim.Proc) time.Duration {
	delay := max(time.Duration(w.spec.InitialDelaySeconds)*time.Second-w.target.age(), 0)
	if w.target.adopted {
		delay += time.Duration(p.Sim().Fraction(StartJitter, p.Name()) * float64(w.period()))
	}
	return delay
}

// wait waits for d, or until the worker is stopped.
func (w *containerBoundWorker) wait(p *sim.Proc, d time.Duration) {
	if d > 0 && !w.canceled {
		w.waiting = true
		p.WakeAt(p.Now().Add(d))
		p.Park()
		w.waiting = false
	}
}

// stop ends the worker, and cancels the run that is in progress: its outcome is discarded.
func (w *containerBoundWorker) stop() {
	w.canceled = true
	if w.waiting {
		w.waiting = false
		w.proc.Interrupt()
		return
	}
	w.stopped.TrySend(struct{}{})
}

func (w *containerBoundWorker) onTick(p *sim.Proc) {
	if keepGoing := w.doProbe(p); !keepGoing {
		w.end(p)
	}
	w.recorder.endTurn()
}

// end ends the process. The results stay.
func (w *containerBoundWorker) end(p *sim.Proc) {
	p.Exit()
	w.ticker.Stop()
	if w.manager.workers[w.key()] == w {
		delete(w.manager.workers, w.key())
	}
}

// doProbe probes the instance once and stores the result. It reports whether the worker continues.
func (w *containerBoundWorker) doProbe(p *sim.Proc) (keepGoing bool) {
	if w.canceled {
		return false
	}
	result, ok := w.probe(p, w.target.podIP)
	if w.canceled {
		return false
	}
	if w.profile.MutableContainerProbes {
		w.ticker.Reset(w.period())
	}
	if !ok || !w.count(result) {
		// An error of the probe itself says nothing about the container. Below the threshold the stored result stays as it is.
		return true
	}

	w.setResult(p, result)

	switch {
	case w.probeType == trace.Startup:
		if result == results.Success {
			w.manager.onStartupSucceeded(p, w)
		}
		return false
	case w.probeType == trace.Liveness && result == results.Failure:
		return false // the kubelet kills the container
	}
	return true
}
