package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// worker runs one probe of one container periodically, from the pod's first sync until the
// container has terminated for good or the manager stops the worker (pkg/kubelet/prober/worker.go
// at v1.37.0).
//
// A node has hundreds of workers, and most ticks do nothing. The fields read on every tick come
// first, for cache locality.
type worker struct {
	manager      *manager
	cachedStatus ContainerStatus
	// onHold skips probes until the status shows a new container.
	onHold bool
	// podDeleted reports whether the pod had a deletion timestamp when the worker was created. The
	// kubelet never updates the worker's copy of the pod, so a worker does not learn of a later
	// deletion.
	podDeleted bool
	PodBoundWorker

	stop   *sim.Chan[struct{}]
	ticker *sim.Ticker
}

// StartJitter is the delay of a worker's first run on a kubelet that has just started, as a
// fraction of the period. The worker draws it.
const StartJitter choose.JitterSource = "start of "

func newWorker(m *manager, pod *v1.Pod, c *v1.Container, probeType trace.Probe) *worker {
	w := &worker{manager: m, podDeleted: pod.DeletionTimestamp != nil,
		PodBoundWorker: NewPodBoundWorker(&m.PodBound, pod, c, probeType)}
	w.stop = sim.NewChan[struct{}](m.Sim, "stop of "+w.ProcessName(), 1)
	return w
}

// run starts the worker's process: it probes once, and then at each tick and each manual trigger.
// If the kubelet started less than a period ago, run first waits for a random fraction of the
// period. A restarted kubelet thus spreads its probes over time.
func (w *worker) run(p *sim.Proc) {
	if w.Period() > p.Now().Sub(w.manager.Start) {
		p.Sleep(time.Duration(p.Sim().Fraction(StartJitter, p.Name()) * float64(w.Period())))
	}
	p.SetCause(0) // the first run is not a consequence of the sync that created the worker
	w.ticker = p.Sim().NewTicker("tick of "+p.Name(), w.Period())
	p.Serve(sim.OnTick(w.ticker, w.onTick), sim.On(w.stop, w.onStop), sim.On(w.ManualTrigger, w.onManualTrigger))
	w.onTick(p)
}

func (w *worker) onTick(p *sim.Proc) {
	if keepGoing := w.doProbe(p); !keepGoing {
		w.end(p)
	}
	w.Recorder.EndTurn()
}

// onManualTrigger probes between two ticks. The period starts again from the trigger.
func (w *worker) onManualTrigger(p *sim.Proc, _ struct{}) {
	p.Sim().Turn(p.Name(), "manual trigger of "+p.Name())
	w.Recorder.Triggered(p)
	if w.Profile.ManualTriggerResetsTicker {
		w.ticker.Reset(w.Period())
	}
	w.onTick(p)
}

// stopNow makes the worker end after its present turn.
func (w *worker) stopNow() { w.stop.TrySend(struct{}{}) }

func (w *worker) onStop(p *sim.Proc, _ struct{}) { w.end(p) }

// end ends the process and removes the worker and its container's result.
func (w *worker) end(p *sim.Proc) {
	p.Exit()
	w.ticker.Stop()
	w.RemoveResult()
	w.manager.removeWorker(w)
}

// doProbe probes the container once, if it can be probed now, and stores the result. It reports
// whether the worker continues. It handles the same cases in the same order as doProbe in
// pkg/kubelet/prober/worker.go at v1.37.0.
func (w *worker) doProbe(p *sim.Proc) (keepGoing bool) {
	p.Sim().Turn(p.Name(), "run")
	c := w.cachedStatus.Refresh(w.manager.Status, w.podUID, w.name)
	if !c.PodHasStatus() {
		// No sync has stored a status yet, or the pod is gone and its status removed.
		w.Recorder.Skipped(p, "the pod has no stored status")
		return true
	}

	if c.Phase == v1.PodFailed || c.Phase == v1.PodSucceeded {
		// The pod has terminated: its containers never run again.
		return false
	}

	if c.ContainerID == "" {
		// The runtime has not created the container, or no sync has stored its status since.
		w.Recorder.Skipped(p, "the stored status does not show the container")
		return true
	}

	if w.ContainerID != c.ContainerID {
		w.onNewContainer(p, c)
	}

	if w.onHold {
		w.Recorder.Skipped(p, "on hold until the status shows a new container")
		return true
	}

	if c.Running == nil {
		// A container that is not running is neither ready nor alive, whatever its last probe
		// found.
		w.SetResult(p, results.Failure)
		return c.Terminated == nil || w.WillRestart(c)
	}

	if w.podDeleted && w.ProbeType != trace.Readiness {
		// Liveness and startup failures must not disturb the graceful shutdown of the pod, so the
		// worker ends with a success. Readiness probes continue, because endpoints depend on them.
		w.SetResult(p, results.Success)
		return false
	}

	// The status manager truncates the start to whole seconds, and the kubelet truncates the
	// difference again. The first probe can run up to one second before the delay has passed.
	if int32(w.Now().Sub(c.StartedAt).Seconds()) < w.Spec.InitialDelaySeconds {
		w.Recorder.Ineligible(p, "initialDelaySeconds has not passed")
		return true
	}

	if c.Started {
		// The startup probe has succeeded. Its worker continues, because the container needs it
		// again after a restart.
		if w.ProbeType == trace.Startup {
			w.Recorder.Ineligible(p, "the container has started")
			return true
		}
	} else {
		// The startup probe protects a slow container from the other probes until it has started.
		if w.ProbeType != trace.Startup {
			w.Recorder.Ineligible(p, "the container has not started")
			return true
		}
	}

	result, ok := w.Probe(p, c.PodIP())
	if !ok {
		// An error of the probe itself says nothing about the container.
		return true
	}

	if !w.Count(result) {
		// Below the threshold the stored result stays as it is.
		return true
	}

	w.SetResult(p, result)

	if result == results.Failure && w.ProbeType != trace.Readiness ||
		w.ProbeType == trace.Startup && w.holdsAfterStartupSuccess() {
		// After a liveness or startup failure the kubelet kills the container. Probing a container
		// while the runtime stops it could corrupt its state (kubernetes/kubernetes#21751). After a
		// startup success, the status takes a moment to show that the container has started, and
		// the probe must not run again (kubernetes/kubernetes#117153).
		w.onHold = true
		w.ResetCount()
	}
	return true
}

// holdsAfterStartupSuccess reports whether the release has the fix for
// kubernetes/kubernetes#117153.
func (w *worker) holdsAfterStartupSuccess() bool { return w.Profile.StartupOnHoldAfterSuccess }

// onNewContainer stores the initial result of a new container and ends a hold. The count of equal
// results in a row continues across containers; only a hold resets it.
func (w *worker) onNewContainer(p *sim.Proc, c *ContainerStatus) {
	w.NewContainer(c.ContainerID)
	w.manager.SetInitialResult(p, &w.PodBoundWorker, c)
	w.onHold = false
}
