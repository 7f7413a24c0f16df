package realkubelet

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// connection connects one kubelet to its surroundings: it carries the calls to the runtime and the
// API server, the probes over the network, and the events. Not all goroutines of a stopped kubelet
// can be ended, so a stopped kubelet is cut off: its calls never return, and its actions have no
// effect.
type connection struct {
	*driver
	turns    *turnLog
	cut      bool                 // protected by the driver's lock
	apiCalls map[*waiter]struct{} // in progress; protected by the driver's lock
}

func newConnection(d *driver, turns *turnLog) *connection {
	return &connection{driver: d, turns: turns, apiCalls: map[*waiter]struct{}{}}
}

// call submits a call of the kubelet's CRI client to the runtime and blocks until the call is done.
func (c *connection) call(ctx context.Context, call fakeruntime.Call) fakeruntime.Op {
	return c.submit(callUntil(ctx, call)).wait()
}

// callUntil returns the call with the deadline of its context.
func callUntil(ctx context.Context, call fakeruntime.Call) fakeruntime.Call {
	if deadline, ok := ctx.Deadline(); ok {
		call.Deadline = time.Until(deadline)
	}
	return call
}

// submit submits a call to the runtime without waiting for the result.
func (c *connection) submit(call fakeruntime.Call) *pending {
	d := c.driver
	p := &pending{conn: c, waiter: &waiter{done: make(chan struct{}), op: fakeruntime.Op{Call: call, Err: errRunEnded}}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || c.cut && call.Method == fakeruntime.Status { // the kubelet holds a lock during this call
		close(p.done)
		return p
	}
	if !c.cut {
		c.turns.call(string(call.Method))
		call.NoFault = d.runtime.HasFaults() && !isSimulated(call.Method)
		op := d.runtime.Submit(d.now(), call)
		p.id = op.ID
		if op.Done {
			p.setResult(op)
			d.runtime.Release(op)
			close(p.done)
			return p
		}
		p.accepted, p.frozenUntil, p.submitted = op.Accepted, op.FrozenUntil, op
		op.Waiter = p.waiter
	}
	d.waiting[p.waiter] = struct{}{}
	d.poke()
	return p
}

// isSimulated reports whether the simulator makes the call that the current goroutine makes. It
// leaves out the calls of a kubelet that starts, other than those of its checks of the runtime, and
// those that find the images in use.
func isSimulated(call fakeruntime.Method) bool {
	for caller := range callers() {
		switch {
		case strings.Contains(caller, "realImageGCManager"):
			return false
		case strings.HasSuffix(caller, "(*Kubelet).updateRuntimeUp"):
			return true
		}
	}
	return call != fakeruntime.Status
}

// connect keeps the server's end of a connection to the runtime, which the next outage closes. It
// returns false if the runtime is down.
func (c *connection) connect(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.runtime.Down() {
		return false
	}
	c.sockets = append(c.sockets, server)
	return true
}

// cancelProbes ends the commands of probes in a pod, unless the kubelet is cut off.
func (c *connection) cancelProbes(podUID string) {
	if !c.isCut() {
		c.driver.cancelProbes(podUID)
	}
}

// blockIfCut blocks until the end of the run if the kubelet is cut off.
func (c *connection) blockIfCut() {
	d, w := c.driver, &waiter{done: make(chan struct{})}
	d.mu.Lock()
	if d.over || !c.cut {
		d.mu.Unlock()
		return
	}
	d.waiting[w] = struct{}{}
	d.mu.Unlock()
	<-w.done
}

// errUnreachable is the error of calls while the API server is down.
var errUnreachable = errors.New(apiserver.Refused)

// sleep blocks for the latency of an API call and returns the elapsed time. If it returns an error,
// the caller must not make the call.
func (c *connection) sleep(kind fakeruntime.DelayKind, podUID string) (time.Duration, error) {
	d, w := c.driver, &waiter{done: make(chan struct{}), op: fakeruntime.Op{Err: errRunEnded}}
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		return 0, errRunEnded
	}
	if d.apiDown.Load() && !c.cut {
		d.mu.Unlock()
		return 0, errUnreachable
	}
	start, latency := d.now(), d.runtime.Delay(d.now(), kind, podUID, "")
	if latency == 0 && !c.cut {
		d.mu.Unlock()
		return 0, nil
	}
	d.waiting[w], c.apiCalls[w] = struct{}{}, struct{}{}
	d.mu.Unlock()
	d.at(start.Add(latency), func() { c.wake(w) })
	<-w.done
	return d.now().Sub(start), w.op.Err
}

// fault returns the fault of a call to the API server that begins, or nil.
func (c *connection) fault(call fakeruntime.Method, pod string) *fakeruntime.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.cut || c.apiDown.Load() {
		return nil
	}
	return c.runtime.Fault(call, pod, "")
}

// failed records that a call to the API server fails.
func (c *connection) failed(f *fakeruntime.Fault, pod string) {
	c.change(func(r *fakeruntime.Runtime, now virtual.Time) { r.RecordFault(now, f, trace.Record{Pod: pod}) })
}

// wake ends a sleep.
func (c *connection) wake(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endSleep(w, nil)
}

// endSleep ends a sleep that has not ended yet. The caller holds the lock.
func (c *connection) endSleep(w *waiter, err error) {
	if _, sleeps := c.apiCalls[w]; sleeps && !c.cut && !c.over {
		delete(c.apiCalls, w)
		delete(c.waiting, w)
		w.op.Err = err
		close(w.done)
	}
}

// refuse ends the API calls in progress with an error.
func (c *connection) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// in any order: the status manager and the workers of static pods make one call at a time each
	for w := range c.apiCalls {
		c.endSleep(w, errUnreachable)
	}
}

// close cuts the kubelet off. The runtime aborts the calls in progress.
func (c *connection) close() {
	d := c.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	c.cut, d.completed = true, nil
	d.runtime.Disconnect(d.now())
}

// turn adds a turn of a process, unless the kubelet is cut off.
func (c *connection) turn(process, point string) {
	if !c.isCut() {
		c.turns.add(process, point)
	}
}

// isCut reports whether the kubelet is cut off.
func (c *connection) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}
