package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// findExecTarget finds the running container of a command. If there is none, it fails the call and
// reports false.
func (r *Runtime) findExecTarget(op *Op) bool {
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

// answerExec sets the result of a command, and returns its error.
func (op *Op) answerExec() error {
	answer := op.request.answer
	switch {
	case op.TimedOut:
		return errExec("DeadlineExceeded", "timeout %s exceeded: context deadline exceeded", op.Call.Timeout)
	case answer.Word == Breaks:
		return errExec("Unknown", "failed to start exec: OCI runtime exec failed")
	}
	op.ExitCode, op.Output = answer.Code, answer.Body
	return nil
}

// ErrCanceled is the error of a call that its caller has canceled.
var ErrCanceled = rpcError("Canceled", "context canceled")

// CancelProbes cancels the commands of probes in a pod at time now. The runtime kills the commands,
// and the calls end with ErrCanceled.
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
				r.interrupt(op, ErrCanceled)
			}
		}
	}
}

// errExec is an error of ExecSync in the words of containerd.
func errExec(code, format string, args ...any) error {
	return rpcError(code, "failed to exec in container: "+format, args...)
}
