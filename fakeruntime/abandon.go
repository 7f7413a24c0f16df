package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// The status that containerd reports for a container whose start failed (StartContainer in
// internal/cri/server/container_start.go of containerd 2.0).
const (
	codeStartError = 128
	StartError     = "StartError"
)

// errDeadline is the error of a call whose caller has given up.
var errDeadline = rpcError("DeadlineExceeded", "context deadline exceeded")

// limit makes a call end at its deadline, if that is before the call ends otherwise.
func (r *Runtime) limit(op *Op, end virtual.Time) {
	if deadline := later(op.Start, op.Call.Deadline); op.Call.Deadline > 0 && deadline < end {
		op.expiry = event{op: op, expires: true}
		r.queue.schedule(&op.expiry, deadline, expires)
	}
}

// expire ends a call whose caller has gone, at its deadline or because the kubelet has stopped. The
// context of the call ends too, and containerd goes on with some calls (goesOn).
func (r *Runtime) expire(op *Op) {
	if op.goesOn() {
		work := &Op{Call: op.Call, Start: op.Start, End: op.End, ID: op.ID, opState: opState{
			pod: op.pod, sandbox: op.sandbox, container: op.container, reserved: op.reserved, abandoned: true,
		}}
		work.event.op, op.container, op.reserved = work, nil, "" // this call releases nothing
		r.queue.cancel(&op.event)
		r.queue.schedule(&work.event, work.End, changes)
	} else {
		r.abort(op)
	}
	r.interrupt(op, errDeadline)
}

// goesOn reports whether containerd goes on with a call whose context has ended. Work on the disk
// does not look at the context: a container that is created or removed. A stop signal that is on
// its way to the shim arrives. But what runs a program with the context fails: the shim that starts
// a container, the network plugin of a sandbox. And SIGKILL follows only while StopContainer waits
// (internal/cri/server of containerd 2.0).
func (op *Op) goesOn() bool {
	if op.hasNoEffect() {
		return false
	}
	switch op.Call.Method {
	case CreateContainer, RemoveContainer, RemovePodSandbox:
		return true
	case StopContainer:
		return op.container != nil && op.event.rank > 0 && !op.returns
	}
	return false
}

// abort ends a call that does not go on. A container whose start fails has exited.
func (r *Runtime) abort(op *Op) {
	r.queue.cancel(&op.event)
	c := op.container
	switch {
	case c == nil:
	case op.Call.Method == StopContainer && slices.Contains(c.stops, op):
		if c.stops = without(c.stops, op); len(c.stops) == 0 {
			c.killAt = never
			r.scheduleEnd(c)
		}
	case op.Call.Method == StartContainer && c.State == Created && !c.removed:
		c.State, c.FinishedAt, c.ExitCode, c.Reason = Exited, r.Wall(r.now), codeStartError, StartError
		r.markChanged(c.pod)
	}
}

// reserve keeps other calls from creating the same sandbox or container, or from removing the same
// container, until the call ends (internal/cri/server of containerd 2.0, sandbox_run.go,
// container_create.go and container_remove.go). The kubelet makes such calls after it has given up
// one, and after the wall clock is set back: it then mistakes an older object for the newest.
func (op *Op) reserve() error {
	p, call := op.pod, &op.Call
	if p == nil {
		return nil
	}
	switch call.Method {
	case RunPodSandbox:
		return op.reserveName("sandbox", p.name(call.Attempt), "")
	case CreateContainer:
		return op.reserveName("container", call.Name+"_"+p.name(call.Attempt), "_"+call.Name)
	case StartContainer:
		if c := op.container; c != nil && c.State == Created {
			c.config.logs = append(c.config.logs, c.Attempt) // the first thing that containerd does
		}
	case RemoveContainer:
		if op.container == nil {
			break
		}
		if op.container.removing {
			return rpcError("Unknown", "failed to set removing state for container %q: container is already in "+
				"removing state", call.ContainerID)
		}
		op.container.removing = true
	}
	return nil
}

// reserveName reserves the name of an object in the runtime, and chooses its ID.
func (op *Op) reserveName(kind, name, of string) error {
	if by := op.pod.names[name]; by != "" {
		return rpcError("Unknown", "failed to reserve %s name %q: name %q is reserved for %q", kind, name, name, by)
	}
	op.ID, op.reserved = op.pod.id(of, op.Call.Attempt), name
	op.pod.names[name] = op.ID
	return nil
}

// release ends what reserve has begun, for a call that fails.
func (op *Op) release() {
	if op.reserved != "" {
		delete(op.pod.names, op.reserved)
	}
	if op.Call.Method == RemoveContainer && op.container != nil {
		op.container.removing = false
	}
}
