package fakeruntime

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
)

// clientDeadline is how long after its timeout the kubelet waits for the runtime to report it
// (k8s.io/cri-client v0.37.0 pkg/remote_runtime.go, ExecSync).
const clientDeadline = 2 * time.Minute

// reachExec finds the running container of a command. Timeouts of commands are those of the kubelet: the
// runtime ends the command, or the kubelet stops waiting.
func (r *Runtime) reachExec(op *Op) bool {
	c := op.Call.Ref.container
	if c == nil || c.removed {
		c = r.containers[op.Call.ContainerID]
	}
	if c == nil {
		r.finish(op, errExec("NotFound", "failed to find container %q in store: not found", op.Call.ContainerID))
		return false
	}
	op.container, op.pod = c, c.pod
	if c.State != Running {
		r.finish(op, errExec("Unknown", "container is in %s state", c.criState()))
		return false
	}
	return true
}

// answerExec says what the end of a command is.
func (op *Op) answerExec() error {
	answer := op.request.answer
	switch {
	case op.TimedOut:
		return errTimedOut(&op.Call)
	case answer.Word == Breaks:
		return errExec("Unknown", "failed to start exec: OCI runtime exec failed")
	}
	op.ExitCode, op.Output = answer.Code, answer.Body
	return nil
}

// ErrCanceled is the error of a call whose caller does not wait for its end any more.
var ErrCanceled = rpcError("Canceled", "context canceled")

// CancelProbes ends the commands that run for probes in a pod: those who wait for them have given up, and
// then the runtime kills the commands.
func (r *Runtime) CancelProbes(now virtual.Time, podUID string) {
	r.run(now)
	for _, c := range r.all.containers {
		if c.PodUID != podUID {
			continue
		}
		for _, op := range slices.Clone(c.requests) {
			if op.Call.Method == ExecSync && op.Call.Probe != "" {
				r.queue.cancel(&op.event)
				c.requests = without(c.requests, op)
				r.finish(op, ErrCanceled)
			}
		}
	}
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
