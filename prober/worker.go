package prober

import (
	"net/http"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// worker runs one probe of one container again and again, from the pod's first sync until the
// container has ended for good or it is stopped (pkg/kubelet/prober/worker.go at v1.37.0).
//
// With many of them a tick costs what has to be fetched from memory: what each looks at comes first and together.
type worker struct {
	manager   *Manager
	seen      *status.Stored // what startedAt, running, started and ended were seen in; nil if they are to be looked up
	startedAt time.Time      // when the container did, if it runs
	running   bool
	started   bool
	onHold    bool  // no probing until there is a new container
	stored    bool  // the present container has a result
	since     int64 // what has the container probed: its start, or that it counts as started; 0 while it is not
	cause     int64 // of the present run, if somebody asked for it

	result      results.Result // of the present container
	lastResult  results.Result
	containerID string
	spec        v1.Probe
	resultRun   int32 // how many times in a row the probe came to lastResult
	terminating bool  // the pod was when the worker was made
	instance    int
	podUID      types.UID
	podName     string // namespace/name
	name        string // of the container
	probeType   trace.Probe
	memo        any // of who runs the command
	command     []string

	stop          *sim.Chan[struct{}]
	manualTrigger *sim.Chan[int64] // carries the step of the record that asked for it
	ticker        *sim.Ticker
	ended         *v1.ContainerStateTerminated

	pod       *v1.Pod // as it was when the worker was made; never renewed
	container *v1.Container
	request   *http.Request // of an httpGet probe, made for the IP that the pod had last
	requestIP string
	results   *results.Manager
	initial   results.Result
}

// StartJitter is how long the worker of a young kubelet waits before its first run, as a part of the period. The
// worker draws it.
const StartJitter choose.JitterSource = "start of "

// run starts the worker: while the kubelet is younger than the period, it waits for a random part of the period. It
// then probes once, and again at each tick and trigger.
func (w *worker) run(p *sim.Proc) {
	if w.period() > p.Now()-w.manager.start {
		p.Sleep(time.Duration(p.Sim().Fraction(StartJitter, p.Name()) * float64(w.period())))
	}
	w.ticker = p.Sim().NewTicker("tick of "+p.Name(), w.period())
	p.Serve(sim.OnTick(w.ticker, w.onTick), sim.On(w.stop, w.onStop), sim.On(w.manualTrigger, w.onManualTrigger))
	w.onTick(p)
}

// onTick probes the container. The worker ends when doProbe says so.
func (w *worker) onTick(p *sim.Proc) {
	if !w.doProbe(p) {
		w.end(p)
	}
	w.cause = 0
}

// onManualTrigger probes outside the beat of the ticker because another probe's result asks for it.
func (w *worker) onManualTrigger(p *sim.Proc, cause int64) {
	w.cause = cause
	w.noteTrigger(p)
	if w.manager.profile.ManualTriggerResetsTicker {
		w.ticker.Reset(w.period())
	}
	w.onTick(p)
}

func (w *worker) onStop(p *sim.Proc, _ struct{}) { w.end(p) }

func (w *worker) period() time.Duration { return time.Duration(w.spec.PeriodSeconds) * time.Second }

// end ends the worker's process and removes the container's result.
func (w *worker) end(p *sim.Proc) {
	p.Exit()
	w.ticker.Stop()
	if w.containerID != "" {
		w.results.Remove(w.containerID)
	}
	w.manager.remove(w)
}

// isSidecar reports whether the container is an init container; those that have probes are sidecars.
func (w *worker) isSidecar() bool {
	return slices.ContainsFunc(w.pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == w.name })
}

func (w *worker) key() key { return key{w.podUID, w.name, w.probeType} }

// doProbe does what is due at a tick and reports whether the worker goes on. What it knows of the
// container is what the status manager has, not what the API server or the runtime have.
func (w *worker) doProbe(p *sim.Proc) bool {
	if w.seen == nil || w.seen.Replaced {
		if reason, goesOn := w.look(p); w.seen == nil {
			return goesOn && w.skip(p, reason)
		}
	}
	if w.onHold {
		return w.skip(p, "on hold until there is a new container")
	}
	if !w.running {
		w.set(p, results.Failure, w.manager.step(w.containerID))
		return w.ended == nil || w.comesBack(w.ended.ExitCode) || podutil.ShouldAllContainersRestart(w.pod, w.seen.Status, nil)
	}
	if w.terminating && w.probeType != trace.Readiness {
		w.set(p, results.Success, w.manager.step(w.containerID))
		return false
	}
	if reason := w.notYet(); reason != "" {
		w.since = 0
		return w.skip(p, reason)
	}
	if w.since == 0 {
		w.since = max(w.manager.step(w.containerID), w.manager.results.Startup.Cause(w.containerID))
	}
	w.probeAndCount(p)
	return true
}

// look sees what the pod's status says of the container. If that is nothing it says why, and whether the worker goes on.
func (w *worker) look(p *sim.Proc) (reason string, goesOn bool) {
	w.seen = nil
	stored, ok := w.manager.status.Stored(w.podUID)
	if !ok {
		return "the pod has no status yet", true
	}
	if stored.Status.Phase == v1.PodFailed || stored.Status.Phase == v1.PodSucceeded {
		return "", false
	}
	c := findContainer(stored.Status, w.name)
	if c == nil || c.ContainerID == "" {
		return "the container is not in the pod's status yet", true
	}
	w.seen, w.ended, w.running, w.started = stored, c.State.Terminated, c.State.Running != nil, c.Started != nil && *c.Started
	if w.running {
		w.startedAt = c.State.Running.StartedAt.Time
	}
	if w.containerID != c.ContainerID {
		w.meet(p, c)
	}
	return "", true
}

// meet begins with a new container. The count of equal results is kept: only going on hold clears it.
// A container that ran before the kubelet started keeps its state until it has been probed. The startup
// probe of a sidecar that counts as started has succeeded then; where the sidecar is new, and only counts so by
// its name, this is said and taken back at once.
func (w *worker) meet(p *sim.Proc, c *v1.ContainerStatus) {
	if w.containerID != "" {
		w.results.Remove(w.containerID)
	}
	w.stored, w.memo = false, nil
	w.containerID, w.instance, w.since = c.ContainerID, w.manager.instance(c.ContainerID), 0
	step := w.manager.step(w.containerID)
	if w.manager.profile.KeptOnKubeletRestart && w.isSidecar() && w.probeType == trace.Startup && w.started {
		w.set(p, results.Success, step)
	}
	if !w.manager.profile.KeptOnKubeletRestart || !w.running || !w.manager.startedBeforeKubelet(c) {
		w.set(p, w.initial, step)
	}
	w.onHold = false
}

// notYet says why a running container is not to be probed now, if it is not. Both times are cut to whole
// seconds: the start by the status manager, the difference here.
func (w *worker) notYet() string {
	running := w.manager.now().Sub(w.startedAt)
	switch {
	case int32(running.Seconds()) < w.spec.InitialDelaySeconds:
		return "initialDelaySeconds is not over"
	case w.started && w.probeType == trace.Startup:
		return "the container has started"
	case !w.started && w.probeType != trace.Startup:
		return "the container has not started"
	}
	return ""
}

// probeAndCount probes and stores a result once there were enough equal ones in a row.
func (w *worker) probeAndCount(p *sim.Proc) {
	result, step, ok := w.probe(p)
	if !ok {
		return
	}
	if w.lastResult == result {
		w.resultRun++
	} else {
		w.lastResult, w.resultRun = result, 1
	}
	if result == results.Failure && w.resultRun < w.spec.FailureThreshold ||
		result == results.Success && w.resultRun < w.spec.SuccessThreshold {
		return
	}
	w.set(p, result, step)
	hold := result == results.Failure && w.probeType != trace.Readiness ||
		w.probeType == trace.Startup && w.manager.profile.StartupOnHoldAfterSuccess
	if hold {
		w.onHold, w.resultRun = true, 0
	}
}

// set stores a result. That of its container is the worker's alone, and the same again changes nothing.
func (w *worker) set(p *sim.Proc, r results.Result, cause int64) {
	if w.stored && w.result == r {
		return
	}
	w.stored, w.result = true, r
	w.results.Set(p, results.Update{ContainerID: w.containerID, PodUID: w.podUID, Result: r, Cause: cause})
}

// noteTrigger notes that the worker probes now because it was asked to, not at a tick.
func (w *worker) noteTrigger(p *sim.Proc) {
	if w.manager.trace.Wants(trace.TriggerTaken) {
		w.manager.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.TriggerTaken, Cause: w.cause, Pod: w.podName, Container: w.name, Probe: w.probeType,
		})
	}
}

// skip notes why nothing was probed; the worker goes on.
func (w *worker) skip(p *sim.Proc, reason string) bool {
	if w.manager.trace.Wants(trace.ProbeSkipped) {
		w.manager.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ProbeSkipped, Pod: w.podName, Container: w.name, Probe: w.probeType, Reason: reason,
		})
	}
	return true
}

func findContainer(status *v1.PodStatus, name string) *v1.ContainerStatus {
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

// comesBack reports whether there will be a new container after one that ended with this code, as far as
// a worker knows: up to 1.34 it looked only for pods that restart nothing, and for sidecars.
func (w *worker) comesBack(exitCode int32) bool {
	if !w.manager.profile.WorkerEndsWithLastExit {
		return w.pod.Spec.RestartPolicy != v1.RestartPolicyNever || w.isSidecar()
	}
	return podutil.ContainerShouldRestart(w.container, &w.pod.Spec, exitCode)
}
