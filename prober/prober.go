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
	// maxProbeRetries is how often a probe is tried at once while the probe itself breaks
	// (pkg/kubelet/prober/prober.go at v1.37.0).
	maxProbeRetries = 3
	// maxReadLength caps the output of an exec probe and the body of a response, in bytes
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
	Retry       bool // a further try of the same probe run
	// Memo is the runner's own: what it puts there is there at the next command of the probe in the same container.
	Memo *any
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
	state   trace.Result // that an error comes with: failure if the probe had an answer before it broke
}

// broken is the verdict of a probe that came to nothing.
func broken(err error) verdict { return verdict{result: trace.Error, message: err.Error()} }

// errNoHandler is the error of a probe that has no handler the simulator knows.
var errNoHandler = errors.New("missing probe handler")

// probe runs the worker's probe once, with its retries, leaves the record and the event, and returns
// the result and the step of the record. It is not ok when the probe itself broke, which counts as
// nothing (pkg/kubelet/prober/prober.go at v1.37.0).
func (w *worker) probe(p *sim.Proc) (results.Result, int64, bool) {
	start := p.Now()
	v := w.runWithRetries(p)
	step := w.manager.trace.Add(trace.Record{
		T: p.Now(), Kind: trace.ProbeExecuted, Cause: max(w.cause, w.since),
		Pod: w.podName, Container: w.name, Instance: w.instance,
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
		words = " probe errored and resulted in " + string(cmp.Or(v.state, "unknown")) + " state: "
	}
	w.event("Unhealthy", title[w.probeType]+words+v.message, step)
	return results.Failure, step, false
}

// title is how events write the probe types.
var title = map[trace.Probe]string{trace.Liveness: "Liveness", trace.Readiness: "Readiness", trace.Startup: "Startup"}

func (w *worker) event(reason, message string, cause int64) {
	w.manager.events.ContainerEvent(w.pod, w.name, v1.EventTypeWarning, reason, message, cause)
}

func (w *worker) runWithRetries(p *sim.Proc) (v verdict) {
	for try := range maxProbeRetries {
		if v = w.runOnce(p, try > 0); v.result != trace.Error {
			break
		}
	}
	return v
}

// runOnce runs the handler of the probe: the first that there is.
func (w *worker) runOnce(p *sim.Proc, retry bool) verdict {
	switch {
	case w.spec.Exec != nil:
		return judgeExec(w.manager.runner.RunInContainer(p, Command{
			PodUID: w.podUID, ContainerID: w.containerID, Probe: w.probeType, Args: w.command, Timeout: w.timeout(), Retry: retry, Memo: &w.memo,
		}))
	case w.spec.HTTPGet != nil:
		return w.runHTTP(p, w.podIP(), retry)
	case w.spec.TCPSocket != nil:
		return w.runTCP(p, w.podIP(), retry)
	case w.spec.GRPC != nil:
		return w.runGRPC(p, w.podIP())
	}
	return broken(errNoHandler)
}

// podIP is what the status says that the probe goes by.
func (w *worker) podIP() string { return w.seen.Status.PodIP }

// judgeExec says what a command's end means: exit 0 is a success, another code or the timeout a
// failure, anything else an error of the probe (pkg/probe/exec/exec.go at v1.37.0).
func judgeExec(o Output) verdict {
	switch {
	case o.TimedOut:
		return verdict{result: trace.Failure, message: o.Err.Error()}
	case o.Err != nil:
		return broken(o.Err)
	}
	text := o.Text
	if len(text) > maxReadLength {
		text = text[:maxReadLength]
	}
	if o.ExitCode != 0 {
		return verdict{result: trace.Failure, message: text}
	}
	return verdict{result: trace.Success, message: text}
}
