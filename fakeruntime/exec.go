package fakeruntime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/trace"
)

// clientDeadline is how long after its timeout the kubelet waits for the runtime to report it
// (k8s.io/cri-client v0.37.0 pkg/remote_runtime.go, ExecSync).
const clientDeadline = 2 * time.Minute

// mostStalls is after how many windows a request that is stalled again and again never gets an answer.
const mostStalls = 1000

// exec is a command that runs in a container.
type exec struct {
	who      asker
	answer   *Answer
	timesOut bool // the timeout comes before what the answer says
	stalls   int
}

// beginExec has the program of a running container choose its answer. Timeouts are those of the
// kubelet: the runtime ends the command, or the kubelet stops waiting.
func (r *Runtime) beginExec(op *Op) {
	c := r.containers[op.Call.ContainerID]
	if c == nil {
		r.finish(op, errExec("NotFound", "failed to find container %q in store: not found", op.Call.ContainerID))
		return
	}
	op.container, op.pod, op.event.op = c, c.pod, op
	if c.State != Running {
		r.finish(op, errExec("Unknown", "container is in %s state", c.criState()))
		return
	}
	op.exec.who = askerOf(&op.Call)
	if !op.Call.Retry {
		c.instance.runs[op.exec.who]++
	}
	c.execs = append(c.execs, op)
	r.ask(op)
}

// ask puts the request to the program, at first or when the window of a stall has closed.
func (r *Runtime) ask(op *Op) {
	x, c := &op.exec, op.container
	answer, w := c.instance.answer(x.who, r.now)
	x.answer = answer
	end := never
	switch answer.Word {
	case Hangs:
	case Stalls:
		if x.stalls++; x.stalls <= mostStalls {
			end = w.close
		}
	default:
		end = later(r.now, c.config.scope.answerDelay(r.now, x.who, answer))
	}
	deadline := op.deadline()
	x.timesOut = deadline <= end
	op.End = min(end, deadline)
	r.queue.schedule(&op.event, op.End, execs)
}

// deadline is when the call ends without an answer.
func (op *Op) deadline() time.Duration {
	if op.Call.Timeout <= 0 {
		return never
	}
	deadline := later(op.Start, op.Call.Timeout)
	if op.exec.answer.IgnoreTimeout {
		return later(deadline, clientDeadline)
	}
	return deadline
}

// continueExec does what was due: a timeout, the end of a stall, an answer.
func (r *Runtime) continueExec(op *Op) {
	answer := op.exec.answer
	var err error
	switch {
	case op.exec.timesOut:
		op.TimedOut, err = true, errTimedOut(&op.Call)
	case answer.Word == Stalls:
		r.ask(op)
		return
	case answer.Word == Breaks:
		err = errExec("Unknown", "failed to start exec: OCI runtime exec failed")
	default:
		op.ExitCode, op.Output = answer.Code, answer.Body
	}
	op.container.execs = without(op.container.execs, op)
	r.finish(op, err)
}

// ErrCanceled is the error of a call whose caller does not wait for its end any more.
var ErrCanceled = rpcError("Canceled", "context canceled")

// CancelProbes ends the commands that run for probes in a pod: those who wait for them have given up, and
// then the runtime kills the commands.
func (r *Runtime) CancelProbes(now time.Duration, podUID string) {
	r.run(now)
	for _, c := range r.all.containers {
		if c.PodUID != podUID {
			continue
		}
		for _, op := range slices.Clone(c.execs) {
			if op.Call.Probe != "" {
				r.queue.cancel(&op.event)
				c.execs = without(c.execs, op)
				r.finish(op, ErrCanceled)
			}
		}
	}
}

// answerDelay draws how long the program takes to answer.
func (s *scope) answerDelay(now time.Duration, who asker, a *Answer) time.Duration {
	d := s.delays[DelayExec]
	if a.Latency != nil {
		d = *a.Latency
	}
	return s.draw(now, DelayExec, who, d)
}

func askerOf(c *Call) asker {
	switch {
	case c.Probe == trace.Liveness:
		return byLiveness
	case c.Probe == trace.Readiness:
		return byReadiness
	case c.Probe == trace.Startup:
		return byStartup
	case c.Hook == "postStart":
		return byPostStart
	case c.Hook == "preStop":
		return byPreStop
	}
	return byNobody
}

// errTimedOut is the error that the kubelet's CRI client makes of a timeout (k8s.io/cri-client v0.37.0
// pkg/remote_runtime.go, execSyncV1); it becomes the message of the probe.
func errTimedOut(c *Call) error {
	return fmt.Errorf("command timed out: %q timed out after %s", strings.Join(c.Command, " "), c.Timeout)
}

// errExec is an error as containerd words those of ExecSync.
func errExec(code, format string, args ...any) error {
	return rpcError(code, "failed to exec in container: "+format, args...)
}
