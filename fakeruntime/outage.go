package fakeruntime

import (
	"cmp"
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

var (
	errDown = rpcError("Unavailable", `connection error: desc = "transport: Error while dialing: dial unix `+
		`/run/containerd/containerd.sock: connect: connection refused"`)
	errLost = rpcError("Unavailable", "error reading from server: EOF")
)

// SetHealth sets the health of the runtime from time now on. Events that are due until now happen
// first. When the runtime goes down, calls in progress fail: calls that have not taken effect have
// none, commands have no result, and no SIGKILL follows the grace period of a stop. Network
// requests continue. While the runtime is down, calls fail immediately.
func (r *Runtime) SetHealth(now virtual.Time, h Health) {
	r.run(now)
	if h.Down && !r.health.Down {
		r.failCalls()
	}
	r.health = h
}

// Down reports whether the runtime is down.
func (r *Runtime) Down() bool { return r.health.Down }

// Healthy reports whether a status call would now return no false condition.
func (r *Runtime) Healthy() bool {
	return !r.health.Down && !r.health.RuntimeNotReady && !r.health.NetworkNotReady
}

// failCalls fails all calls in progress, oldest first.
func (r *Runtime) failCalls() {
	list := slices.DeleteFunc(slices.Clone(r.queue.heap),
		func(q queued) bool { return q.op == nil || q.op.Call.Method.isNetwork() })
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
			if !slices.Contains(ops, op) { // a hanging command is not in the queue
				ops = append(ops, op)
			}
		}
		ops = append(ops, c.stops...)
		r.abandonStops(c)
	}
	slices.SortStableFunc(ops, func(a, b *Op) int { return cmp.Compare(a.Start, b.Start) })
	for _, op := range ops {
		r.finish(op, errLost)
	}
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
func IsNotFound(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), rpcPrefix+"NotFound ")
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
