package fakeruntime

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Health is the health of the runtime. The zero value is healthy.
type Health struct {
	// Down makes the socket of the runtime refuse connections. Containers keep running.
	Down bool
	// RuntimeNotReady and NetworkNotReady make the status of the runtime report a false condition.
	// The runtime works.
	RuntimeNotReady, NetworkNotReady bool
	// RegistryDown makes pulls of images fail at their end. Images that the node has stay there.
	RegistryDown bool
}

// errPull is the error of a pull from a registry that does not answer, in the words of containerd.
func errPull(image string) error {
	return rpcError("Unknown", `failed to pull and unpack image %q: failed to resolve image: failed to do request: `+
		`dial tcp: i/o timeout`, image)
}

// Condition is a condition in the status of the runtime.
type Condition struct {
	Type    string
	Status  bool
	Reason  string // of a false condition, in the words of containerd
	Message string
}

// Types of conditions.
const (
	RuntimeReady = "RuntimeReady"
	NetworkReady = "NetworkReady"
)

// healthyConditions are the conditions of a healthy runtime.
var healthyConditions = []Condition{{Type: RuntimeReady, Status: true}, {Type: NetworkReady, Status: true}}

// conditions returns the conditions in the status. Callers must not modify the slice.
func (h Health) conditions() []Condition {
	if !h.RuntimeNotReady && !h.NetworkNotReady {
		return healthyConditions
	}
	list := slices.Clone(healthyConditions)
	if h.RuntimeNotReady {
		list[0] = Condition{RuntimeReady, false, "ContainerdNotReady", "containerd is not ready"}
	}
	if h.NetworkNotReady {
		list[1] = Condition{NetworkReady, false, "NetworkPluginNotReady",
			"Network plugin returns error: cni plugin not initialized"}
	}
	return list
}

// ErrDial is the error of a connection to a runtime that is down.
var ErrDial = errors.New("dial unix /run/containerd/containerd.sock: connect: connection refused")

var (
	errDown = rpcError("Unavailable", "connection error: desc = %q", "transport: Error while dialing: "+ErrDial.Error())
	errLost = rpcError("Unavailable", "error reading from server: EOF")
)

// SetHealth sets the health of the runtime from time now on. Events that are due until now happen
// first. When the runtime goes down, calls in progress fail: calls that have not taken effect have
// none, commands have no result, and no SIGKILL follows the grace period of a stop. Network
// requests continue. While the runtime is down, calls fail immediately.
func (r *Runtime) SetHealth(now virtual.Time, h Health) {
	r.run(now)
	switch {
	case h.Down && !r.health.Down:
		r.outages = append(r.outages, outage{now, never})
		r.failCalls()
	case !h.Down && r.health.Down:
		r.outages[len(r.outages)-1].to = now
	}
	r.health = h
}

// outage is a time in which the runtime is down.
type outage struct{ from, to virtual.Time }

// DownAt reports whether the runtime was down just before a time.
func (r *Runtime) DownAt(t virtual.Time) bool {
	return slices.ContainsFunc(r.outages, func(o outage) bool { return o.from < t && t <= o.to })
}

// LastOutage returns when the runtime last went down, or virtual.Min if it never did.
func (r *Runtime) LastOutage() virtual.Time {
	if n := len(r.outages); n > 0 {
		return r.outages[n-1].from
	}
	return virtual.Min
}

// Down reports whether the runtime is down.
func (r *Runtime) Down() bool { return r.health.Down }

// Healthy reports whether a status call would now return no false condition.
func (r *Runtime) Healthy() bool {
	return !r.health.Down && !r.health.RuntimeNotReady && !r.health.NetworkNotReady
}

// failCalls fails all calls in progress, oldest first.
func (r *Runtime) failCalls() {
	ops := r.calls()
	for _, op := range ops {
		r.queue.cancel(&op.event)
	}
	for _, c := range r.all.containers {
		for _, op := range slices.Clone(c.requests) {
			if op.Call.Method.IsNetwork() {
				continue
			}
			c.requests = without(c.requests, op)
			if !slices.Contains(ops, op) { // a hanging command is not in the queue
				ops = append(ops, op)
			}
		}
		ops = append(ops, c.stops...)
		r.abandonStops(c)
	}
	slices.SortStableFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Start, b.Start) })
	for _, op := range ops {
		r.interrupt(op, errLost)
	}
}

// calls returns the calls with an end in the queue, in the order of one instant.
func (r *Runtime) calls() []*Op {
	list := slices.DeleteFunc(slices.Clone(r.queue.events),
		func(e *event) bool { return e.op == nil || e.expires || e.op.Call.Method.IsNetwork() })
	slices.SortFunc(list, func(a, b *event) int { return cmp.Compare(a.rank, b.rank) })
	ops := make([]*Op, len(list))
	for i, e := range list {
		ops[i] = e.op
	}
	return ops
}

// abandonStops cancels the StopContainer calls of a container. No SIGKILL follows, because
// containerd sends SIGKILL only while StopContainer waits.
func (r *Runtime) abandonStops(c *container) {
	if len(c.stops) > 0 {
		c.stops, c.killAt = nil, never
		r.scheduleEnd(c)
	}
}

// IsNotFound reports whether an error of a call means that its object does not exist.
func IsNotFound(err error) bool { return hasCode(err, "NotFound") }

// IsUnknown reports whether the error of a call has the gRPC code Unknown.
func IsUnknown(err error) bool { return hasCode(err, "Unknown") }

func hasCode(err error, code string) bool {
	return err != nil && strings.HasPrefix(err.Error(), rpcPrefix+code+" ")
}

// Description returns the text of an error of a call without the gRPC code.
func Description(err error) string {
	text := err.Error()
	if rest, isRPC := strings.CutPrefix(text, rpcPrefix); isRPC {
		if _, desc, found := strings.Cut(rest, " desc = "); found {
			return desc
		}
	}
	return text
}

// Disconnect ends all calls at time now, as when the kubelet dies. Events that are due until now
// happen first, but Advance no longer returns the calls. The runtime goes on with some of them
// (goesOn). Commands and requests end. No SIGKILL follows the grace period of a stop.
func (r *Runtime) Disconnect(now virtual.Time) {
	r.run(now)
	calls := r.calls()
	for _, e := range slices.Clone(r.queue.events) {
		if e.op != nil && (e.expires || e.op.Call.Method.asksProgram()) {
			r.queue.cancel(e)
		}
	}
	for _, op := range calls {
		if op.abandoned = true; !op.goesOn() && !op.Call.Method.asksProgram() {
			op.expiry = event{op: op, expires: true}
			r.queue.schedule(&op.expiry, now, expires) // unless PowerOff comes first
		}
	}
	for _, c := range r.all.containers {
		c.requests = nil
		r.abandonStops(c)
	}
	clear(r.done)
	r.done = r.done[:0]
}

// The status that containerd reports for a container whose process it does not find after its start
// (internal/cri/server/restart.go and helpers.go of containerd 2.0).
const (
	codeUnknown   = 255
	reasonUnknown = "Unknown"
)

// PowerOff ends all processes and sandboxes at time now, as when the node goes down. The cause is
// the step of a record. Events that are due until now happen first; the driver must have called
// Disconnect. The runtime starts again at time back, and only then finds that the processes have
// ended, with an unknown exit code. Containers that were not started do not change.
func (r *Runtime) PowerOff(now, back virtual.Time, cause int64) {
	for _, op := range r.calls() {
		r.queue.cancel(&op.event)
		r.queue.cancel(&op.expiry)
		op.release()
	}
	r.run(now)
	for _, s := range slices.Clone(r.all.sandboxes) {
		if !s.Ready {
			continue
		}
		for _, c := range s.containers() {
			if c.State == Running {
				r.exitUnobserved(c, back, cause)
			}
		}
		s.Ready, s.IP = false, ""
		r.markChanged(s.pod)
	}
}

// exitUnobserved ends a process whose exit the runtime does not observe.
func (r *Runtime) exitUnobserved(c *container, back virtual.Time, cause int64) {
	r.queue.cancel(&c.event)
	c.exit, c.killAt, c.killReason, c.stopping = exit{at: r.now, code: codeUnknown}, never, reasonUnknown, cause
	r.end(c)
	c.FinishedAt, c.foundAt = r.Wall(back), back
}

// Calls of the kubelet to the API server about a pod. The runtime does not answer them: it only has
// their latencies and their faults.
const (
	APIGet    Method = "APIGet"
	APIPatch  Method = "APIPatch"  // of a status
	APICreate Method = "APICreate" // of a mirror pod
	APIDelete Method = "APIDelete"
)

// failing are the calls that a Fault can have. ListImages is none: only the garbage collection of
// images makes it.
var failing = []Method{
	RunPodSandbox, StopPodSandbox, RemovePodSandbox, PodSandboxStatus, ListPodSandbox,
	CreateContainer, StartContainer, StopContainer, RemoveContainer, UpdateContainerResources,
	ContainerStatus, ListContainers, ExecSync, ImageStatus, PullImage, Status,
	APIGet, APIPatch, APICreate, APIDelete,
}

// Calls returns the names of the calls that can fail, as scenarios write them.
func Calls() []string {
	names := make([]string, len(failing))
	for i, m := range failing {
		names[i] = m.camelCase()
	}
	return names
}

// CallNamed returns the call with a name of Calls, or an empty method.
func CallNamed(name string) Method {
	if i := slices.Index(Calls(), name); i >= 0 {
		return failing[i]
	}
	return ""
}

// NameOf returns the name of a call of Calls, or an empty string for another method.
func NameOf(m Method) string {
	if slices.Contains(failing, m) {
		return m.camelCase()
	}
	return ""
}

// Changes reports whether a call changes something, rather than only reading it.
func (m Method) Changes() bool {
	return kinds[m].class == changes || m == ExecSync || m == UpdateContainerResources || m == APIPatch ||
		m == APICreate || m == APIDelete
}

// camelCase returns the name of a method with a small first letter.
func (m Method) camelCase() string {
	if rest, api := strings.CutPrefix(string(m), "API"); api {
		return "api" + rest
	}
	return strings.ToLower(string(m[:1])) + string(m[1:])
}

// OfContainer reports whether a call is about one container.
func (m Method) OfContainer() bool {
	switch m {
	case CreateContainer, StartContainer, StopContainer, RemoveContainer, UpdateContainerResources, ContainerStatus,
		ExecSync:
		return true
	}
	return false
}

// OfAPI reports whether a call goes to the API server.
func (m Method) OfAPI() bool { return strings.HasPrefix(string(m), "API") }

// Fault makes the next calls of a method fail, after their latency. Calls that break for another
// reason, such as an outage that interrupts them, count too.
type Fault struct {
	Method     Method
	Pods       func(key string) bool // calls about these pods, as namespace/name; nil: all calls
	Containers []string              // calls about containers of these names; none: all calls
	Count      int64                 // the number of calls, at least 1
	// Done makes the calls take effect: only their answers are lost. Otherwise they have no effect,
	// but a container whose start fails has exited.
	Done    bool
	Message string // of the error; empty: a text that fits Done
	Failed  func() // called when a call fails, if it is set
}

// The descriptions of errors without a Message.
const (
	failedText  = "internal error"
	lostText    = "error reading from server: EOF"
	apiLostText = "unexpected EOF"
)

// Err returns the error of the calls.
func (f *Fault) Err() error {
	switch {
	case f.Method.OfAPI() && f.Done:
		return plainError(cmp.Or(f.Message, apiLostText))
	case f.Method.OfAPI():
		return plainError(cmp.Or(f.Message, failedText))
	case f.Done && f.Message == "":
		return errLost
	}
	return rpcError("Unknown", "%s", cmp.Or(f.Message, failedText))
}

type plainError string

func (e plainError) Error() string { return string(e) }

// FailCalls adds a fault, which applies to the calls that begin from now on.
func (r *Runtime) FailCalls(now virtual.Time, f Fault) {
	r.run(now)
	r.faults = append(r.faults, &f)
}

// HasFaults reports whether there are faults that still wait for calls.
func (r *Runtime) HasFaults() bool { return len(r.faults) > 0 }

// Fault returns the oldest fault for a call that begins now, and counts the call. It is nil if the
// call does not fail. Drivers ask for calls to the API server.
func (r *Runtime) Fault(m Method, pod, container string) *Fault {
	i := slices.IndexFunc(r.faults, func(f *Fault) bool {
		return f.Method == m && (f.Pods == nil || pod != "" && f.Pods(pod)) &&
			(len(f.Containers) == 0 || slices.Contains(f.Containers, container))
	})
	if i < 0 {
		return nil
	}
	f := r.faults[i]
	if f.Count--; f.Count <= 0 {
		r.faults = slices.Delete(r.faults, i, i+1)
	}
	return f
}

// faultOf returns the fault of a call of the CRI whose objects are known.
func (r *Runtime) faultOf(op *Op) *Fault {
	if len(r.faults) == 0 || op.Call.NoFault {
		return nil
	}
	of := op.subject()
	return r.Fault(op.Call.Method, of.Pod, cmp.Or(of.Container, op.Call.Name))
}

// hasNoEffect reports whether a fault keeps the call from its effect.
func (op *Op) hasNoEffect() bool { return op.fault != nil && !op.fault.Done }

// interrupt ends a call whose fault no longer counts, because something else has ended it.
func (r *Runtime) interrupt(op *Op, err error) {
	op.fault = nil
	r.finish(op, err)
}

// fail replaces the result of a call by its fault.
func (r *Runtime) fail(op *Op) {
	op.Err, op.TimedOut, op.Conditions = op.fault.Err(), false, nil
	op.FaultStep = r.RecordFault(op.End, op.fault, op.subject())
	if op.Call.Method == StartContainer && op.container != nil && op.hasNoEffect() {
		op.container.setStep(op.FaultStep) // its exit
	}
}

// RecordFault records that a call fails by a fault, and returns the step of the record. The record
// has the subject.
func (r *Runtime) RecordFault(now virtual.Time, f *Fault, rec trace.Record) int64 {
	if f.Failed != nil {
		f.Failed()
	}
	verb := " fails: "
	if f.Done {
		verb = " is done, and its answer is lost: "
	}
	rec.T, rec.Kind, rec.Reason, rec.Message = now, trace.Step, "failCall", f.Method.camelCase()+verb+f.Err().Error()
	return r.record(rec)
}

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
