package preview138

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// mutableWorker runs one probe of one container, from the first sync of its pod with the probe
// until the pod is gone. The probe can change and go away meanwhile (from the source of
// kubernetes/kubernetes#142096 at 7862f4b, not compared: pkg/kubelet/prober/worker.go).
//
// A worker has no ticks, but a time of its next turn. A period counts from the end of a run.
type mutableWorker struct {
	manager      *mutableManager
	cachedStatus prober.ContainerStatus
	prober.PodBoundWorker

	enabled bool // the container has the probe, and the worker is not stopped
	stopped bool
	// onHold skips runs until the status shows a new container.
	onHold bool
	// needsInitialization is set until the container has a result.
	needsInitialization bool
	// startupComplete is set when the startup probe has succeeded for the container, or the
	// container had none when it started.
	startupComplete bool
	// firstRunBegan is set when the probe has run in the container. The initial delay is over then.
	firstRunBegan bool
	startedAt     time.Time     // of the container; zero if it does not run
	next          moment        // of the next turn
	lastEnd       *virtual.Time // of the last run in the container

	proc      *sim.Proc // of the worker; a command that was canceled has the process from before
	processes int
	running   bool // the probe
	timer     *sim.Ticker
	stop      *sim.Chan[struct{}]
	updated   *sim.Chan[struct{}]
}

// moment is a virtual time, or a time of the wall clock, which moves when the clock is set.
type moment struct {
	virtual virtual.Time
	wall    time.Time // the moment, unless it is zero
}

func newMutableWorker(m *mutableManager, pod *v1.Pod, c *v1.Container, probeType trace.Probe) *mutableWorker {
	w := &mutableWorker{manager: m, PodBoundWorker: prober.NewPodBoundWorker(&m.PodBound, pod, c, probeType),
		enabled: true, needsInitialization: true}
	w.ProbeID = m.nextProbeID()
	w.stop = sim.NewChan[struct{}](m.Sim, "stop of "+w.ProcessName(), 1)
	w.updated = sim.NewChan[struct{}](m.Sim, "update of "+w.ProcessName(), 1)
	w.turnAt(m.Sim.Now())
	if w.Period() > m.Sim.Now().Sub(m.Start) { // a young kubelet spreads its probes over time
		w.turnAt(m.Sim.Now().Add(time.Duration(m.Sim.Fraction(prober.StartJitter,
			w.ProcessName()) * float64(w.Period()))))
	}
	return w
}

// start starts the process of the worker, or another one in place of a process that waits for a
// canceled command.
func (w *mutableWorker) start() {
	name := w.ProcessName()
	if w.processes++; w.processes > 1 {
		name += fmt.Sprintf("#%d", w.processes)
	} else {
		w.timer = w.Sim.NewTicker("turn of "+name, w.Period())
	}
	w.proc = w.Sim.Go(name, w.run)
}

func (w *mutableWorker) run(p *sim.Proc) {
	p.SetCause(0) // the first run is not a consequence of the sync that created the worker
	p.Serve(sim.OnTick(w.timer, w.proceed), sim.On(w.stop, w.onSignal), sim.On(w.ManualTrigger, w.onManualTrigger),
		sim.On(w.updated, w.onSignal))
	w.proceed(p)
}

func (w *mutableWorker) onSignal(p *sim.Proc, _ struct{}) { w.proceed(p) }

// onManualTrigger makes the next turn begin now.
func (w *mutableWorker) onManualTrigger(p *sim.Proc, _ struct{}) {
	p.Sim().Turn(p.Name(), "manual trigger of "+p.Name())
	if w.enabled {
		w.Recorder.Triggered(p)
		w.turnAt(p.Now())
	}
	w.proceed(p)
}

// proceed takes the turns that are due and then waits for the next one.
func (w *mutableWorker) proceed(p *sim.Proc) {
	for w.enabled {
		if left := w.untilTurn(); left > 0 {
			w.timer.Reset(left)
			return
		}
		keepGoing := w.doProbe(p)
		if p != w.proc {
			p.Exit() // another process has taken over
			return
		}
		w.Recorder.EndTurn()
		if !keepGoing {
			w.stopNow()
		}
	}
	w.timer.Stop()
	if w.stopped {
		p.Exit()
		w.manager.removeWorker(w)
	}
}

func (w *mutableWorker) turnAt(t virtual.Time) { w.next = moment{virtual: t} }

func (w *mutableWorker) untilTurn() time.Duration {
	if !w.next.wall.IsZero() {
		return w.next.wall.Sub(w.Now())
	}
	return w.next.virtual.Sub(w.Sim.Now())
}

// stopNow ends the worker, cancels its run and removes the result.
func (w *mutableWorker) stopNow() {
	if w.stopped {
		return
	}
	w.stopped, w.enabled = true, false
	w.cancel()
	w.RemoveResult()
	w.stop.TrySend(struct{}{})
}

// cancel discards the outcome of the run in progress. A command ends at once. A request goes on
// until its answer or its timeout, and the worker waits for it.
func (w *mutableWorker) cancel() {
	w.Epoch++
	if w.running && w.Spec.Exec != nil {
		w.running = false
		w.proc.Release()
		w.start()
	}
}

// observed returns the container in the stored status, nil if the status does not show it.
func (w *mutableWorker) observed() *prober.ContainerStatus {
	if c := w.cachedStatus.Refresh(w.manager.Status, w.Pod.UID, w.Container.Name); c.PodHasStatus() &&
		c.ContainerID != "" {
		return c
	}
	return nil
}

// observe takes over the container in the stored status. A new container begins without results and
// counts.
func (w *mutableWorker) observe(c *prober.ContainerStatus) {
	if w.ContainerID != c.ContainerID {
		w.cancel()
		w.NewContainer(c.ContainerID)
		w.ResetCount()
		w.onHold, w.startupComplete, w.firstRunBegan, w.needsInitialization, w.lastEnd = false, false, false, true, nil
		w.turnAt(w.Sim.Now())
	}
	w.startedAt = c.StartedAt
}

// initialize sets the initial result of a new worker. before is the pod at its last sync; it is nil
// at the first one, which keeps what was before a restart of the kubelet. A worker can also be new
// because the one before has ended with its container.
func (w *mutableWorker) initialize(p *sim.Proc, before *v1.Pod) {
	next, observed := w.next, w.observed()
	if before != nil && !hadProbe(before, w.Container.Name, w.ProbeType) {
		w.tell(w.Pod, w.Container, observed, probeAdded)
	}
	w.initializeProbe(p, observed, before != nil)
	w.next = next // a young kubelet keeps its order
}

func hadProbe(pod *v1.Pod, container string, probe trace.Probe) bool {
	c := podutil.Find(pod, container)
	return c != nil && prober.ProbeOf(c, probe) != nil
}

// initializeProbe sets the initial result of a probe of a container that exists. A started
// container does not run its startup probe again.
func (w *mutableWorker) initializeProbe(p *sim.Proc, c *prober.ContainerStatus, added bool) {
	if c == nil {
		return
	}
	w.observe(c)
	switch {
	case c.Running != nil && w.ProbeType == trace.Startup && (w.startupComplete || c.Started):
		w.startupComplete, w.onHold, w.needsInitialization = true, true, false
		w.SetResult(p, results.Success)
	case added:
		w.needsInitialization = false
		w.SetResult(p, prober.InitialValue(w.ProbeType))
	default:
		w.initializeResult(p, c)
	}
}

// initializeResult sets the initial result of a container that the worker sees for the first time.
func (w *mutableWorker) initializeResult(p *sim.Proc, c *prober.ContainerStatus) {
	w.needsInitialization = false
	if w.ProbeType == trace.Startup && w.startupComplete {
		w.SetResult(p, results.Success)
		w.onHold = true
		return
	}
	w.manager.SetInitialResult(p, &w.PodBoundWorker, c)
}

// tell publishes the event about a change of the probe, before what follows from the change.
func (w *mutableWorker) tell(pod *v1.Pod, c *v1.Container, observed *prober.ContainerStatus, action string) {
	id := ""
	if observed != nil {
		id = observed.ContainerID
	}
	w.Recorder.ProbeChanged()
	probeChanged(&w.manager.Options, pod, c, id, w.ProbeType, action)
}

// apply makes the worker run the probe as an update of the pod has it, and reports whether the
// update adds or removes the probe.
//
//	change of                          the count     the stored result    the next run
//	periodSeconds                      stays         stays                a new period after the last run
//	initialDelaySeconds                stays         stays                after the new delay, if none has begun
//	a threshold                        begins anew   stays                as before
//	the handler or timeoutSeconds      begins anew   stays                now; the run in progress is discarded
//	the probe is added                 begins anew   initial              now
//	the probe is removed               -             is removed           none
func (w *mutableWorker) apply(p *sim.Proc, pod *v1.Pod, c *v1.Container) (changed bool) {
	if w.stopped {
		return false
	}
	observed, spec := w.observed(), prober.ProbeOf(c, w.ProbeType)
	switch {
	case spec == nil && !w.enabled:
		return false
	case spec == nil:
		w.tell(pod, c, observed, probeRemoved)
		w.disable(observed)
		return true
	case !w.enabled:
		w.tell(pod, c, observed, probeAdded)
		w.Configure(pod, c)
		w.enable(p, observed)
		return true
	}
	before := w.Spec
	if observed != nil && observed.ContainerID != w.ContainerID {
		w.observe(observed)
		w.initializeResult(p, observed)
	}
	change := compareProbes(&before, spec)
	if change.any {
		w.tell(pod, c, observed, probeUpdated)
	}
	if change.execution { // before the new handler decides whether the run is a command
		w.cancel()
	}
	w.Configure(pod, c)
	if change.execution || change.thresholds {
		w.ResetCount()
	}
	switch {
	case change.execution:
		w.lastEnd = nil
		w.turnAt(w.Sim.Now())
	case change.period || change.delay && !w.firstRunBegan:
		w.next = w.nextTurn()
	}
	return false
}

// disable stops the probe until it is added again. A running container without a startup probe has
// started.
func (w *mutableWorker) disable(observed *prober.ContainerStatus) {
	w.enabled = false
	if w.ProbeType == trace.Startup && observed != nil && observed.Running != nil {
		w.observe(observed)
		w.startupComplete = true
	}
	w.cancel()
	w.ResetCount()
	w.onHold = false
	w.RemoveResult()
}

func (w *mutableWorker) enable(p *sim.Proc, observed *prober.ContainerStatus) {
	w.enabled, w.onHold, w.needsInitialization = true, false, true
	w.ProbeID, w.lastEnd = w.manager.nextProbeID(), nil
	w.Epoch++
	w.ResetCount()
	w.turnAt(w.Sim.Now())
	w.initializeProbe(p, observed, true)
}

// probeChange is what an update of a pod changes in a probe.
type probeChange struct {
	any, execution, thresholds, period, delay bool
}

func compareProbes(before, after *v1.Probe) probeChange {
	return probeChange{
		any: !apiequality.Semantic.DeepEqual(before, after),
		execution: before.TimeoutSeconds != after.TimeoutSeconds ||
			!apiequality.Semantic.DeepEqual(before.ProbeHandler, after.ProbeHandler),
		thresholds: before.SuccessThreshold != after.SuccessThreshold ||
			before.FailureThreshold != after.FailureThreshold,
		period: before.PeriodSeconds != after.PeriodSeconds,
		delay:  before.InitialDelaySeconds != after.InitialDelaySeconds,
	}
}

// nextTurn returns the time of the next turn after a change of the period or the delay.
func (w *mutableWorker) nextTurn() moment {
	if !w.firstRunBegan && !w.startedAt.IsZero() {
		if due := w.endOfDelay(w.startedAt); w.Now().Before(due) {
			return moment{wall: due}
		}
	}
	if w.lastEnd != nil {
		return moment{virtual: w.lastEnd.Add(w.Period())}
	}
	return moment{virtual: w.Sim.Now()}
}

func (w *mutableWorker) endOfDelay(startedAt time.Time) time.Time {
	return startedAt.Add(time.Duration(w.Spec.InitialDelaySeconds) * time.Second)
}

// doProbe takes a turn of the worker: it probes the container once, if it can be probed now, and
// stores the result. It reports whether the worker continues.
func (w *mutableWorker) doProbe(p *sim.Proc) (keepGoing bool) {
	p.Sim().Turn(p.Name(), "run")
	if runs, keepGoing := w.prepare(p); !runs {
		return keepGoing
	}
	w.running, w.firstRunBegan = true, true
	epoch := w.Epoch
	result, ok := w.Probe(p, w.cachedStatus.PodIP())
	if p != w.proc {
		return true
	}
	w.running = false
	if !w.enabled {
		return true
	}
	if c := w.observed(); w.Epoch != epoch || c == nil || c.ContainerID != w.ContainerID || status.IsTerminal(c.Phase) {
		w.turnAt(p.Now())
		return true
	}
	now := p.Now()
	w.lastEnd = &now
	w.turnAt(now.Add(w.Period()))
	if !ok || !w.Count(result) {
		// An error of the probe itself says nothing about the container. Below the threshold the
		// stored result stays as it is.
		return true
	}
	w.SetResult(p, result)
	if w.ProbeType == trace.Startup || w.ProbeType == trace.Liveness && result == results.Failure {
		w.onHold = true
		w.ResetCount()
		w.startupComplete = w.startupComplete || w.ProbeType == trace.Startup && result == results.Success
	}
	return true
}

// prepare reports whether the probe runs in this turn, and otherwise whether the worker continues.
// The cases are those of the worker of 1.37. The first turn after the initial delay begins at its
// end.
func (w *mutableWorker) prepare(p *sim.Proc) (runs, keepGoing bool) {
	w.turnAt(p.Now().Add(w.Period()))
	c := w.cachedStatus.Refresh(w.manager.Status, w.Pod.UID, w.Container.Name)
	switch {
	case !c.PodHasStatus():
		w.Recorder.Skipped(p, "the pod has no stored status")
		return false, true
	case status.IsTerminal(c.Phase):
		return false, false
	case c.ContainerID == "":
		w.Recorder.Skipped(p, "the stored status does not show the container")
		return false, true
	}
	w.observe(c)
	if w.needsInitialization {
		w.initializeResult(p, c)
	}
	w.turnAt(p.Now().Add(w.Period())) // also after the turn at once of a new container
	switch {
	case w.onHold:
		w.Recorder.Skipped(p, "on hold until the status shows a new container")
		return false, true
	case c.Running == nil:
		w.SetResult(p, results.Failure)
		return false, c.Terminated == nil || w.WillRestart(c)
	case !w.firstRunBegan && w.Now().Before(w.endOfDelay(c.StartedAt)):
		w.next = moment{wall: w.endOfDelay(c.StartedAt)}
		w.Recorder.Ineligible(p, "initialDelaySeconds has not passed")
		return false, true
	case c.Started && w.ProbeType == trace.Startup:
		w.startupComplete = true
		w.Recorder.Ineligible(p, "the container has started")
		return false, true
	case !c.Started && w.ProbeType != trace.Startup:
		w.Recorder.Ineligible(p, "the container has not started")
		return false, true
	}
	return true, true
}
