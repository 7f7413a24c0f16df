package prober

import (
	"cmp"
	"errors"
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
	// ContainerEvent publishes an event. The event has the cause of the running process.
	ContainerEvent(pod *v1.Pod, container, eventType, reason, message string)
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

// probe runs the probe once, with retries, and publishes an event if the run fails or warns. It returns false if the probe
// itself ended with an error: such a run has no result (probe in pkg/kubelet/prober/prober.go at v1.37.0).
func (w *worker) probe(p *sim.Proc) (results.Result, bool) {
	start := p.Now()
	w.recorder.startRun()
	o := w.runProbeWithRetries(p)
	w.recorder.endRun(p, start, o)
	switch o.result {
	case trace.Success:
		return results.Success, true
	case trace.Warning:
		w.recordContainerEvent("ProbeWarning", title[w.probeType]+" probe warning: "+o.message)
		return results.Success, true
	case trace.Failure:
		w.recordContainerEvent("Unhealthy", title[w.probeType]+" probe failed: "+o.message)
		return results.Failure, true
	}
	words := " probe errored: "
	if w.manager.profile.UnknownStateInErrorEvent {
		words = " probe errored and resulted in " + string(cmp.Or(o.errorState, "unknown")) + " state: "
	}
	w.recordContainerEvent("Unhealthy", title[w.probeType]+words+o.message)
	return results.Failure, false
}

// title spells the probe types as events do.
var title = map[trace.Probe]string{trace.Liveness: "Liveness", trace.Readiness: "Readiness", trace.Startup: "Startup"}

func (w *worker) recordContainerEvent(reason, message string) {
	w.manager.events.ContainerEvent(w.pod, w.name, v1.EventTypeWarning, reason, message)
}

// runProbeWithRetries tries the probe until a try ends without an error of the probe, at most maxProbeRetries times.
func (w *worker) runProbeWithRetries(p *sim.Proc) (o outcome) {
	for try := range maxProbeRetries {
		if o = w.runProbe(p, try > 0); o.result != trace.Error {
			break
		}
	}
	return o
}

// runProbe runs the handler of the probe.
func (w *worker) runProbe(p *sim.Proc, retry bool) outcome {
	switch {
	case w.spec.Exec != nil:
		return execOutcome(w.manager.runner.RunInContainer(p, Command{
			PodUID: w.podUID, ContainerID: w.containerID, Probe: w.probeType, Args: w.command, Timeout: w.timeout(), Retry: retry, Memo: &w.memo,
		}))
	case w.spec.HTTPGet != nil:
		return w.runHTTP(p, w.cachedStatus.podIP(), retry)
	case w.spec.TCPSocket != nil:
		return w.runTCP(p, w.cachedStatus.podIP(), retry)
	case w.spec.GRPC != nil:
		return w.runGRPC(p, w.cachedStatus.podIP())
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
