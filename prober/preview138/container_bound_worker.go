package preview138

import (
	"fmt"
	"time"

	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// containerBoundWorker runs one probe of one instance of a container, from the end of its initial
// delay until the instance is stopped, its startup probe has a result, or its liveness probe has
// failed (from the source of kubernetes/kubernetes#140704, not compared:
// pkg/kubelet/prober/container_bound_worker.go).
type containerBoundWorker struct {
	manager *containerBoundManager
	target  target
	prober.Execution

	proc      *sim.Proc
	takesOver int  // the number of this worker among those that take over from another one, 0 for the others
	atOnce    bool // run first without a delay
	first     *firstRun
	waiting   bool          // for the first run
	postponed bool          // the delay has changed meanwhile
	running   bool          // the probe
	lastEnd   *virtual.Time // of a run
	isStopped bool
	ticker    *sim.Ticker
	stopped   *sim.Chan[struct{}]
}

func newContainerBoundWorker(m *containerBoundManager, probe trace.Probe, t target) *containerBoundWorker {
	w := &containerBoundWorker{manager: m, target: t,
		Execution: prober.NewExecution(&m.Options, t.pod, t.container, probe)}
	w.NewContainer(t.containerID)
	w.stopped = sim.NewChan[struct{}](m.Sim, "stop of "+w.processName(), 1)
	return w
}

// processName contains the instance, because the worker of an instance that was replaced may still
// be running its last probe. So may a worker whose handler was replaced.
func (w *containerBoundWorker) processName() string {
	name := fmt.Sprintf("%s#%d", w.ProcessName(), w.Instance(w.ContainerID))
	if w.takesOver > 0 {
		name += fmt.Sprintf(".%d", w.takesOver)
	}
	return name
}

// run starts the worker's process: it waits for the first run, and then probes at each tick, which
// count from there.
func (w *containerBoundWorker) run(p *sim.Proc) {
	p.SetCause(0) // the runs are not a consequence of the sync that created the worker
	if w.first == nil {
		w.first = &firstRun{from: p.Now(), age: w.target.age()}
		if w.target.adopted {
			w.first.jitter = time.Duration(p.Sim().Fraction(prober.StartJitter, p.Name()) * float64(w.Period()))
		}
	}
	w.wait(p)
	w.ticker = p.Sim().NewTicker("tick of "+p.Name(), w.Period())
	p.Serve(sim.OnTick(w.ticker, w.onTick), sim.On(w.stopped, func(p *sim.Proc, _ struct{}) { w.end(p) }))
	w.onTick(p)
}

// firstRun decides when a probe runs first: when what was left of the initial delay has passed
// since from. The worker of an adopted instance adds a random part of the period, so that a
// restarted kubelet spreads its probes over time.
type firstRun struct {
	from   virtual.Time
	age    time.Duration // of the instance, at from
	jitter time.Duration
}

// firstProbeDelay returns the time until the first run.
func (w *containerBoundWorker) firstProbeDelay() time.Duration {
	if w.atOnce {
		return 0
	}
	delay := max(time.Duration(w.Spec.InitialDelaySeconds)*time.Second-w.first.age, 0) + w.first.jitter
	return w.first.from.Add(delay).Sub(w.Sim.Now())
}

// wait waits until the first run, or until the worker is stopped.
func (w *containerBoundWorker) wait(p *sim.Proc) {
	for d := w.firstProbeDelay(); d > 0 && !w.isStopped; d = w.firstProbeDelay() {
		w.waiting, w.postponed = true, false
		p.WakeAt(p.Now().Add(d))
		p.Park()
		w.waiting = false
		if !w.postponed {
			return
		}
	}
}

// stop ends the worker, and cancels the run that is in progress: its outcome is discarded.
func (w *containerBoundWorker) stop() {
	w.isStopped = true
	w.Epoch++
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
	w.Recorder.EndTurn()
}

// end ends the process. The results stay.
func (w *containerBoundWorker) end(p *sim.Proc) {
	p.Exit()
	w.ticker.Stop()
	if w.manager.workers[w.Key()] == w {
		delete(w.manager.workers, w.Key())
	}
}

// doProbe probes the instance once and stores the result. It reports whether the worker continues.
func (w *containerBoundWorker) doProbe(p *sim.Proc) (keepGoing bool) {
	if w.isStopped {
		return false
	}
	w.running = true
	result, ok := w.Probe(p, w.target.podIP)
	w.running = false
	if w.isStopped {
		return false
	}
	if w.Profile.MutableContainerProbes {
		now := p.Now()
		w.lastEnd = &now
		w.ticker.Reset(w.Period()) // the period begins at the end of a run
	}
	if !ok || !w.Count(result) {
		// An error of the probe itself says nothing about the container. Below the threshold the
		// stored result stays as it is.
		return true
	}

	w.SetResult(p, result)

	switch {
	case w.ProbeType == trace.Startup:
		if result == results.Success {
			w.manager.onStartupSucceeded(p, w)
		}
		return false
	case w.ProbeType == trace.Liveness && result == results.Failure:
		return false // the kubelet kills the container
	}
	return true
}
