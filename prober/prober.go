package prober

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

const (
	// maxProbeRetries is the number of tries of a probe run that ends with an error of the probe
	// (pkg/kubelet/prober/prober.go at v1.37.0).
	maxProbeRetries = 3
	// maxReadLength limits the output of an exec probe and the body of an HTTP response, in bytes
	// (pkg/probe/exec/exec.go and pkg/probe/http/http.go at v1.37.0).
	maxReadLength = 10 << 10
)

// Command is a command that an exec probe runs in a container.
type Command struct {
	PodUID      types.UID
	ContainerID string
	Probe       trace.Probe
	Args        []string
	Timeout     time.Duration
	Retry       bool // a second or third try within one probe run
	// Memo belongs to the runner. The next command of the same probe in the same container finds
	// the value that the runner stores here; the first command finds nil.
	Memo *any
}

// Output is the outcome of a command.
type Output struct {
	Text     string
	ExitCode int32
	TimedOut bool  // the command still ran at the timeout; Err is set
	Err      error // why the command did not run to its end
}

// CommandRunner runs commands in containers.
type CommandRunner interface {
	// RunInContainer runs a command and waits until it ends.
	RunInContainer(p *sim.Proc, c Command) Output
}

// EventRecorder publishes events about containers.
type EventRecorder interface {
	// ContainerEvent publishes an event and returns the step of its record. The event has the cause
	// of the running process.
	ContainerEvent(pod *v1.Pod, container, eventType, reason, message string) int64
}

// outcome is the outcome of one probe run.
type outcome struct {
	result  trace.Result
	message string
	// errorState is the result that accompanies an error: Failure if the probe had an answer before
	// the error, otherwise empty for unknown. It appears in the event.
	errorState trace.Result
}

// probeError returns the outcome of a probe that could not run.
func probeError(err error) outcome { return outcome{result: trace.Error, message: err.Error()} }

// failure returns the outcome of a probe that ran and failed.
func failure(message string) outcome { return outcome{result: trace.Failure, message: message} }

// errNoHandler is the error of a probe without a known handler.
var errNoHandler = errors.New("missing probe handler")

// Execution is the part of a worker that runs the probe of a container and keeps its results, the
// same for all kinds of workers.
type Execution struct {
	*Options
	// ContainerID is the container that the worker probes. It is empty while the worker knows none.
	ContainerID string
	// Epoch grows when the outcome of a run in progress must be discarded.
	Epoch int64
	// hasResult reports whether result, the stored result of the container, is valid.
	hasResult bool
	result    results.Result
	// lastResult is the result of the last probe run, and resultRun the number of runs in a row
	// with this result.
	lastResult results.Result
	resultRun  int32
	Recorder   Recorder
	Spec       v1.Probe
	ProbeType  trace.Probe
	podUID     types.UID
	name       string // of the container
	command    []string
	memo       any   // see Command
	ProbeID    int64 // see results.Update

	Pod            *v1.Pod // as of the creation of the worker or the last change of its probe
	Container      *v1.Container
	request        *http.Request // of an httpGet probe, reused while the pod's IP stays the same
	requestIP      string
	resultsManager *results.Manager
}

// NewExecution returns the part of the worker of a probe, which knows no container of the runtime
// yet.
func NewExecution(o *Options, pod *v1.Pod, c *v1.Container, probeType trace.Probe) Execution {
	e := Execution{
		Options: o, podUID: pod.UID, name: c.Name, ProbeType: probeType,
		Recorder:       Recorder{env: o, pod: pod.Namespace + "/" + pod.Name, container: c.Name, probe: probeType},
		resultsManager: o.Results.Of(probeType),
	}
	e.Configure(pod, c)
	return e
}

// Configure makes the runs that follow use the probe as it is in the container.
func (e *Execution) Configure(pod *v1.Pod, c *v1.Container) {
	e.Pod, e.Container, e.Spec = pod, c, *ProbeOf(c, e.ProbeType)
	e.command, e.request = nil, nil
	if e.Spec.Exec != nil {
		e.command = expandCommand(e.Spec.Exec.Command, c.Env)
	}
}

// ProbeOf returns the probe of a type of a container, or nil if the container does not have it.
func ProbeOf(c *v1.Container, probeType trace.Probe) *v1.Probe {
	return podutil.ProbeOf(c, string(probeType))
}

// SetProbe sets a probe of a container.
func SetProbe(c *v1.Container, probeType trace.Probe, p *v1.Probe) {
	switch probeType {
	case trace.Startup:
		c.StartupProbe = p
	case trace.Readiness:
		c.ReadinessProbe = p
	case trace.Liveness:
		c.LivenessProbe = p
	}
}

// InitialValue returns the result of a container before its first probe: it is alive, not ready,
// and not known to be started.
func InitialValue(probeType trace.Probe) results.Result {
	switch probeType {
	case trace.Readiness:
		return results.Failure
	case trace.Liveness:
		return results.Success
	}
	return results.Unknown
}

// Key returns the key of the worker.
func (e *Execution) Key() Key { return Key{e.podUID, e.name, e.ProbeType} }

// Compare orders workers by pod, container and probe. The kubelet stops them in any order.
func (e *Execution) Compare(f *Execution) int {
	return cmp.Or(cmp.Compare(e.Recorder.pod, f.Recorder.pod), cmp.Compare(e.name, f.name),
		cmp.Compare(e.ProbeType, f.ProbeType))
}

// ProcessName returns the name of the worker's process.
func (e *Execution) ProcessName() string { return WorkerName(e.ProbeType, e.Recorder.pod, e.name) }

// Period returns the time between two runs.
func (e *Execution) Period() time.Duration { return time.Duration(e.Spec.PeriodSeconds) * time.Second }

func (e *Execution) timeout() time.Duration {
	return time.Duration(e.Spec.TimeoutSeconds) * time.Second
}

// NewContainer makes the worker probe another container, without a result. The count of equal
// results in a row continues.
func (e *Execution) NewContainer(containerID string) {
	e.RemoveResult()
	e.ContainerID, e.memo = containerID, nil
	e.Recorder.newContainer(containerID)
}

// RemoveResult removes the stored result of the container.
func (e *Execution) RemoveResult() {
	if e.ContainerID != "" {
		e.resultsManager.Remove(e.ContainerID)
	}
	e.hasResult = false
}

// ResetCount makes the count of equal results in a row begin again.
func (e *Execution) ResetCount() { e.resultRun = 0 }

// Count counts a result and reports whether the number of equal results in a row reaches the
// threshold.
func (e *Execution) Count(result results.Result) bool {
	if e.lastResult == result {
		e.resultRun++
	} else {
		e.lastResult = result
		e.resultRun = 1
	}
	return !(result == results.Failure && e.resultRun < e.Spec.FailureThreshold ||
		result == results.Success && e.resultRun < e.Spec.SuccessThreshold)
}

// SetResult stores the result of the container. The results manager ignores an unchanged result
// too; the check here saves a lookup on every tick.
func (e *Execution) SetResult(p *sim.Proc, r results.Result) {
	if e.hasResult && e.result == r {
		return
	}
	e.hasResult, e.result = true, r
	p.WithCause(e.Recorder.resultCause(), func() {
		about := results.Subject{Pod: e.Recorder.pod, Container: e.name, Instance: e.Recorder.instance}
		e.resultsManager.Set(p, about, results.Update{
			ContainerID: e.ContainerID, PodUID: e.podUID, Result: r, Container: e.name, ProbeID: e.ProbeID,
		})
	})
}

// Probe runs the probe once, with retries, and publishes an event if the run fails or warns. It
// returns false if the run has no result: the probe itself ended with an error, or the run was
// canceled (probe in pkg/kubelet/prober/prober.go at v1.37.0; kubernetes/kubernetes#140704).
func (e *Execution) Probe(p *sim.Proc, podIP string) (results.Result, bool) {
	start, epoch := p.Now(), e.Epoch
	e.Recorder.startRun()
	o := e.runProbeWithRetries(p, podIP)
	if e.Epoch != epoch {
		return results.Failure, false
	}
	e.Recorder.endRun(p, start, o)
	switch o.result {
	case trace.Success:
		return results.Success, true
	case trace.Warning:
		e.recordContainerEvent("ProbeWarning", title[e.ProbeType]+" probe warning: "+o.message)
		return results.Success, true
	case trace.Failure:
		e.recordContainerEvent("Unhealthy", title[e.ProbeType]+" probe failed: "+o.message)
		return results.Failure, true
	}
	words := " probe errored: "
	if e.Profile.UnknownStateInErrorEvent {
		words = " probe errored and resulted in " + string(cmp.Or(o.errorState, "unknown")) + " state: "
	}
	e.recordContainerEvent("Unhealthy", title[e.ProbeType]+words+o.message)
	return results.Failure, false
}

// title spells the probe types as events do.
var title = map[trace.Probe]string{trace.Liveness: "Liveness", trace.Readiness: "Readiness", trace.Startup: "Startup"}

func (e *Execution) recordContainerEvent(reason, message string) {
	e.Events.ContainerEvent(e.Pod, e.name, v1.EventTypeWarning, reason, message)
}

// runProbeWithRetries tries the probe until a try ends without an error of the probe, at most
// maxProbeRetries times.
func (e *Execution) runProbeWithRetries(p *sim.Proc, podIP string) (o outcome) {
	epoch := e.Epoch
	for try := range maxProbeRetries {
		if o = e.runProbe(p, podIP, try > 0); o.result != trace.Error || e.Epoch != epoch {
			break
		}
	}
	return o
}

// runProbe runs the handler of the probe.
func (e *Execution) runProbe(p *sim.Proc, podIP string, retry bool) outcome {
	switch {
	case e.Spec.Exec != nil:
		return execOutcome(e.Runner.RunInContainer(p, Command{
			PodUID: e.podUID, ContainerID: e.ContainerID, Probe: e.ProbeType, Args: e.command, Timeout: e.timeout(),
			Retry: retry, Memo: &e.memo,
		}))
	case e.Spec.HTTPGet != nil:
		return e.runHTTP(p, podIP, retry)
	case e.Spec.TCPSocket != nil:
		return e.runTCP(p, podIP, retry)
	case e.Spec.GRPC != nil:
		return e.runGRPC(p, podIP)
	}
	return probeError(errNoHandler)
}

// execOutcome returns the outcome of an exec probe: exit code 0 is a success, any other code or a
// timeout is a failure, and everything else is an error of the probe (pkg/probe/exec/exec.go at
// v1.37.0).
func execOutcome(o Output) outcome {
	switch {
	case o.TimedOut:
		return failure(o.Err.Error())
	case o.Err != nil:
		return probeError(o.Err)
	}
	text := o.Text
	if len(text) > maxReadLength {
		text = text[:maxReadLength]
	}
	if o.ExitCode != 0 {
		return failure(text)
	}
	return outcome{result: trace.Success, message: text}
}
