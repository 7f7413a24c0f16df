package fakeruntime

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"probesim.dev/sim/virtual"
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
