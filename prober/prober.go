package prober

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/trace"
)

const (
	// maxProbeRetries is how often a probe is tried at once while the probe itself breaks
	// (pkg/kubelet/prober/prober.go at v1.37.0).
	maxProbeRetries = 3
	// maxReadLength caps the output of an exec probe, in bytes (pkg/probe/exec/exec.go at v1.37.0).
	maxReadLength = 10 << 10
)

// Command is a command that an exec probe runs in a container.
type Command struct {
	PodUID      types.UID
	ContainerID string
	Probe       trace.Probe
	Args        []string
	Timeout     time.Duration
	Retry       bool // a further try of the same probe run
}

// Output is how a command ended.
type Output struct {
	Text     string
	ExitCode int32
	TimedOut bool  // it was still running at the timeout; Err is set
	Err      error // it could not be run to its end
}

// CommandRunner runs a command in a container and waits until it ends.
type CommandRunner interface {
	RunInContainer(p *sim.Proc, c Command) Output
}

// EventRecorder leaves an event about a container.
type EventRecorder interface {
	ContainerEvent(pod *v1.Pod, container, eventType, reason, message string, cause int64)
}

// verdict is what one probe run came to.
type verdict struct {
	result  trace.Result
	message string
}

// errNoHandler is the error of a probe that has no handler the simulator knows.
var errNoHandler = errors.New("missing probe handler")

// probe runs the worker's probe once, with its retries, leaves the record and the event, and returns
// the result and the step of the record. It is not ok when the probe itself broke, which counts as
// nothing (pkg/kubelet/prober/prober.go at v1.37.0).
func (w *worker) probe(p *sim.Proc, status *v1.ContainerStatus) (results.Result, int64, bool) {
	start := p.Now()
	v := w.runWithRetries(p)
	step := w.manager.trace.Add(trace.Record{
		T: p.Now(), Kind: trace.ProbeExecuted, Cause: w.cause,
		Pod: w.podName, Container: w.container.Name, Instance: int(status.RestartCount),
		Probe: w.probeType, Result: v.result, Message: v.message, Took: p.Now() - start,
	})
	switch v.result {
	case trace.Success:
		return results.Success, step, true
	case trace.Warning:
		w.event("ProbeWarning", title[w.probeType]+" probe warning: "+v.message, step)
		return results.Success, step, true
	case trace.Failure:
		w.event("Unhealthy", title[w.probeType]+" probe failed: "+v.message, step)
		return results.Failure, step, true
	}
	words := " probe errored: "
	if w.manager.profile.UnknownStateInErrorEvent {
		words = " probe errored and resulted in unknown state: "
	}
	w.event("Unhealthy", title[w.probeType]+words+v.message, step)
	return results.Failure, step, false
}

// title is how events write the probe types.
var title = map[trace.Probe]string{trace.Liveness: "Liveness", trace.Readiness: "Readiness", trace.Startup: "Startup"}

func (w *worker) event(reason, message string, cause int64) {
	w.manager.events.ContainerEvent(w.pod, w.container.Name, v1.EventTypeWarning, reason, message, cause)
}

func (w *worker) runWithRetries(p *sim.Proc) (v verdict) {
	for try := range maxProbeRetries {
		if v = w.runOnce(p, try > 0); v.result != trace.Error {
			break
		}
	}
	return v
}

func (w *worker) runOnce(p *sim.Proc, retry bool) verdict {
	if w.spec.Exec == nil {
		return verdict{trace.Error, errNoHandler.Error()}
	}
	return judgeExec(w.manager.runner.RunInContainer(p, Command{
		PodUID:      w.pod.UID,
		ContainerID: w.containerID,
		Probe:       w.probeType,
		Args:        w.command,
		Timeout:     time.Duration(w.spec.TimeoutSeconds) * time.Second,
		Retry:       retry,
	}))
}

// judgeExec says what a command's end means: exit 0 is a success, another code or the timeout a
// failure, anything else an error of the probe (pkg/probe/exec/exec.go at v1.37.0).
func judgeExec(o Output) verdict {
	switch {
	case o.TimedOut:
		return verdict{trace.Failure, o.Err.Error()}
	case o.Err != nil:
		return verdict{trace.Error, o.Err.Error()}
	}
	text := o.Text
	if len(text) > maxReadLength {
		text = text[:maxReadLength]
	}
	if o.ExitCode != 0 {
		return verdict{trace.Failure, text}
	}
	return verdict{trace.Success, text}
}
