package fakeruntime

import (
	"cmp"
	"slices"
	"strings"

	"probesim.dev/sim/virtual"
)

// Health is how the runtime is; the zero value is well.
type Health struct {
	// Down: nothing answers at the runtime's socket. Containers go on.
	Down bool
	// It answers and does what it is asked to, but its status says that this condition is false.
	RuntimeNotReady, NetworkNotReady bool
}

// Condition is a condition in the status of the runtime.
type Condition struct {
	Type    string
	Status  bool
	Reason  string // of a condition that is false, as containerd words it
	Message string
}

// Types of conditions.
const (
	RuntimeReady = "RuntimeReady"
	NetworkReady = "NetworkReady"
)

// well are the conditions of a runtime with which nothing is the matter.
var well = []Condition{{Type: RuntimeReady, Status: true}, {Type: NetworkReady, Status: true}}

// conditions returns those that the status has, which must not be changed.
func (h Health) conditions() []Condition {
	if !h.RuntimeNotReady && !h.NetworkNotReady {
		return well
	}
	list := slices.Clone(well)
	if h.RuntimeNotReady {
		list[0] = Condition{RuntimeReady, false, "ContainerdNotReady", "containerd is not ready"}
	}
	if h.NetworkNotReady {
		list[1] = Condition{NetworkReady, false, "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized"}
	}
	return list
}

var (
	errDown = rpcError("Unavailable", `connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`)
	errLost = rpcError("Unavailable", "error reading from server: EOF")
)

// SetHealth has the runtime be well or not from time now on. What is due up to now happens first. When it goes down,
// calls under way break off: what has not taken effect does not, commands have no result, and nobody sends SIGKILL at
// the end of a grace period. Requests over the network go on. As long as it is down calls fail at once.
func (r *Runtime) SetHealth(now virtual.Time, h Health) {
	r.run(now)
	if h.Down && !r.health.Down {
		r.breakOff()
	}
	r.health = h
}

// Down reports whether the runtime is down.
func (r *Runtime) Down() bool { return r.health.Down }

// breakOff ends the calls under way, the oldest first.
func (r *Runtime) breakOff() {
	list := slices.DeleteFunc(slices.Clone(r.queue.heap), func(q queued) bool { return q.op == nil || q.op.Call.Method.isNetwork() })
	slices.SortFunc(list, func(a, b queued) int { return cmp.Compare(a.rank, b.rank) })
	var ops []*Op
	for _, q := range list {
		r.queue.cancel(q.event)
		ops = append(ops, q.op)
	}
	for _, c := range r.all.containers {
		for _, op := range slices.Clone(c.requests) {
			if op.Call.Method.isNetwork() {
				continue
			}
			c.requests = without(c.requests, op)
			if !slices.Contains(ops, op) { // it hangs
				ops = append(ops, op)
			}
		}
		ops = append(ops, c.stops...)
		r.abandon(c)
	}
	slices.SortStableFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Start, b.Start) })
	for _, op := range ops {
		r.finish(op, errLost)
	}
}

// abandon has nobody wait for the stop of a container: then nobody sends SIGKILL, because that is what StopContainer
// waits for in containerd.
func (r *Runtime) abandon(c *container) {
	if len(c.stops) > 0 {
		c.stops, c.killAt = nil, never
		r.scheduleEnd(c)
	}
}

// IsNotFound reports whether an error of a call says that what it is about is not there.
func IsNotFound(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), rpcPrefix+"NotFound ")
}

// Description returns the text of an error of a call without its code.
func Description(err error) string {
	text := err.Error()
	if rest, isRPC := strings.CutPrefix(text, rpcPrefix); isRPC {
		if _, desc, found := strings.Cut(rest, " desc = "); found {
			return desc
		}
	}
	return text
}
