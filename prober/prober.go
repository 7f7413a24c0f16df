package prober

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// Memo belongs to the runner. The next command of the same probe in the same container finds the value that the runner
	// stores here; the first command finds nil.
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
	// ContainerEvent publishes an event and returns the step of its record. The event has the cause of the running process.
	ContainerEvent(pod *v1.Pod, container, eventType, reason, message string) int64
}

// outcome is the outcome of one probe run.
type outcome struct {
	result  trace.Result
	message string
	// errorState is the result that accompanies an error: Failure if the probe had an answer before the error, otherwise
	// empty for unknown. It appears in the event.
	errorState trace.Result
}

// probeError returns the outcome of a probe that could not run.
func probeError(err error) outcome { return outcome{result: trace.Error, message: err.Error()} }

// failure returns the outcome of a probe that ran and failed.
func failure(message string) outcome { return outcome{result: trace.Failure, message: message} }

// errNoHandler is the error of a probe without a known handler.
var errNoHandler = errors.New("missing probe handler")

// execution is the part of a worker that runs the probe of a container and keeps its results, the same for both kinds of
// workers.
type execution struct {
	*environment
	// containerID is the container that the worker probes. It is empty while the worker knows none.
	containerID string
	// epoch grows when the outcome of a run in progress must be discarded.
	epoch int64
	// hasResult reports whether result, the stored result of the container, is valid.
	hasResult bool
	result    results.Result
	// lastResult is the result of the last probe run, and resultRun the number of runs in a row with this result.
	lastResult results.Result
	resultRun  int32
	recorder   recorder
	spec       v1.Probe
	probeType  trace.Probe
	podUID     types.UID
	name       string // of the container
	command    []string
	memo       any   // see Command
	probeID    int64 // see results.Update

	pod            *v1.Pod // as of the creation of the worker or the last change of its probe
	container      *v1.Container
	request        *http.Request // of an httpGet probe, reused while the pod's IP stays the same
	requestIP      string
	resultsManager *results.Manager
}

func newExecution(env *environment, pod *v1.Pod, c *v1.Container, probeType trace.Probe) execution {
	e := execution{
		environment: env, podUID: pod.UID, name: c.Name, probeType: probeType,
		recorder:       recorder{env: env, pod: pod.Namespace + "/" + pod.Name, container: c.Name, probe: probeType},
		resultsManager: env.results.of(probeType),
	}
	e.configure(pod, c)
	return e
}

// configure makes the runs that follow use the probe as it is in the container.
func (e *execution) configure(pod *v1.Pod, c *v1.Container) {
	e.pod, e.container, e.spec = pod, c, *ProbeOf(c, e.probeType)
	e.command, e.request = nil, nil
	if e.spec.Exec != nil {
		e.command = expandCommand(e.spec.Exec.Command, c.Env)
	}
}

// ProbeOf returns the probe of a type of a container, or nil if the container does not have it.
func ProbeOf(c *v1.Container, probeType trace.Probe) *v1.Probe {
	switch probeType {
	case trace.Startup:
		return c.StartupProbe
	case trace.Readiness:
		return c.ReadinessProbe
	}
	return c.LivenessProbe
}

// initialValue returns the result of a container before its first probe: it is alive, not ready, and not known to be started.
func initialValue(probeType trace.Probe) results.Result {
	switch probeType {
	case trace.Readiness:
		return results.Failure
	case trace.Liveness:
		return results.Success
	}
	return results.Unknown
}

func (e *execution) key() key { return key{e.podUID, e.name, e.probeType} }

func (e *execution) period() time.Duration { return time.Duration(e.spec.PeriodSeconds) * time.Second }

func (e *execution) timeout() time.Duration {
	return time.Duration(e.spec.TimeoutSeconds) * time.Second
}

// count counts a result and reports whether the number of equal results in a row reaches the threshold.
func (e *execution) count(result results.Result) bool {
	if e.lastResult == result {
		e.resultRun++
	} else {
		e.lastResult = result
		e.resultRun = 1
	}
	return !(result == results.Failure && e.resultRun < e.spec.FailureThreshold ||
		result == results.Success && e.resultRun < e.spec.SuccessThreshold)
}

// setResult stores the result of the container. The results manager ignores an unchanged result too; the check here
// saves a lookup on every tick.
func (e *execution) setResult(p *sim.Proc, r results.Result) {
	if e.hasResult && e.result == r {
		return
	}
	e.hasResult, e.result = true, r
	p.WithCause(e.recorder.resultCause(), func() {
		about := results.Subject{Pod: e.recorder.pod, Container: e.name, Instance: e.recorder.instance}
		e.resultsManager.Set(p, about, results.Update{
			ContainerID: e.containerID, PodUID: e.podUID, Result: r, Container: e.name, ProbeID: e.probeID,
		})
	})
}

// probe runs the probe once, with retries, and publishes an event if the run fails or warns. It returns false if the run
// has no result: the probe itself ended with an error, or the run was canceled (probe in pkg/kubelet/prober/prober.go
// at v1.37.0; kubernetes/kubernetes#140704).
func (e *execution) probe(p *sim.Proc, podIP string) (results.Result, bool) {
	start, epoch := p.Now(), e.epoch
	e.recorder.startRun()
	o := e.runProbeWithRetries(p, podIP)
	if e.epoch != epoch {
		return results.Failure, false
	}
	e.recorder.endRun(p, start, o)
	switch o.result {
	case trace.Success:
		return results.Success, true
	case trace.Warning:
		e.recordContainerEvent("ProbeWarning", title[e.probeType]+" probe warning: "+o.message)
		return results.Success, true
	case trace.Failure:
		e.recordContainerEvent("Unhealthy", title[e.probeType]+" probe failed: "+o.message)
		return results.Failure, true
	}
	words := " probe errored: "
	if e.profile.UnknownStateInErrorEvent {
		words = " probe errored and resulted in " + string(cmp.Or(o.errorState, "unknown")) + " state: "
	}
	e.recordContainerEvent("Unhealthy", title[e.probeType]+words+o.message)
	return results.Failure, false
}

// title spells the probe types as events do.
var title = map[trace.Probe]string{trace.Liveness: "Liveness", trace.Readiness: "Readiness", trace.Startup: "Startup"}

func (e *execution) recordContainerEvent(reason, message string) {
	e.events.ContainerEvent(e.pod, e.name, v1.EventTypeWarning, reason, message)
}

// runProbeWithRetries tries the probe until a try ends without an error of the probe, at most maxProbeRetries times.
func (e *execution) runProbeWithRetries(p *sim.Proc, podIP string) (o outcome) {
	epoch := e.epoch
	for try := range maxProbeRetries {
		if o = e.runProbe(p, podIP, try > 0); o.result != trace.Error || e.epoch != epoch {
			break
		}
	}
	return o
}

// runProbe runs the handler of the probe.
func (e *execution) runProbe(p *sim.Proc, podIP string, retry bool) outcome {
	switch {
	case e.spec.Exec != nil:
		return execOutcome(e.runner.RunInContainer(p, Command{
			PodUID: e.podUID, ContainerID: e.containerID, Probe: e.probeType, Args: e.command, Timeout: e.timeout(), Retry: retry, Memo: &e.memo,
		}))
	case e.spec.HTTPGet != nil:
		return e.runHTTP(p, podIP, retry)
	case e.spec.TCPSocket != nil:
		return e.runTCP(p, podIP, retry)
	case e.spec.GRPC != nil:
		return e.runGRPC(p, podIP)
	}
	return probeError(errNoHandler)
}

// execOutcome returns the outcome of an exec probe: exit code 0 is a success, any other code or a timeout is a failure,
// and everything else is an error of the probe (pkg/probe/exec/exec.go at v1.37.0).
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
