package realkubelet

import (
	"errors"
	"time"

	"probesim.dev/apiserver"
	"probesim.dev/fakeruntime"
)

// connection is what one kubelet reaches the world by: its calls to the runtime and the API server, its probes over
// the network, and its events. A kubelet that is stopped is cut off, because its goroutines cannot all be ended: what
// they wait for does not come, and what they do has no effect.
type connection struct {
	*driver
	cut      bool                 // under the lock of the driver
	apiCalls map[*waiter]struct{} // under way, under that lock too
}

func newConnection(d *driver) *connection {
	return &connection{driver: d, apiCalls: map[*waiter]struct{}{}}
}

// call submits a call to the runtime and blocks until it is done.
func (c *connection) call(call fakeruntime.Call) fakeruntime.Op { return c.submit(call).wait() }

// submit submits a call to the runtime.
func (c *connection) submit(call fakeruntime.Call) *pending {
	d := c.driver
	p := &pending{driver: d, waiter: &waiter{done: make(chan struct{}), op: fakeruntime.Op{Call: call, Err: errOver}}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || c.cut && call.Method == fakeruntime.Status { // across which the kubelet holds a lock
		close(p.done)
		return p
	}
	if !c.cut {
		op := d.runtime.Submit(d.now(), call)
		if op.Done {
			p.take(op)
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

// cancelProbes ends the commands that run for probes in a pod, if the kubelet is not cut off.
func (c *connection) cancelProbes(podUID string) {
	if !c.isCut() {
		c.driver.cancelProbes(podUID)
	}
}

// hold blocks for ever if the kubelet is cut off.
func (c *connection) hold() {
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

// errUnreachable is what calls to an API server return that is down.
var errUnreachable = errors.New(apiserver.Refused)

// sleep blocks for the latency of an API call and returns what has passed of it. With an error the call is not made.
func (c *connection) sleep(kind fakeruntime.DelayKind, podUID string) (time.Duration, error) {
	d, w := c.driver, &waiter{done: make(chan struct{}), op: fakeruntime.Op{Err: errOver}}
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		return 0, errOver
	}
	if d.apiDown && !c.cut {
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

// wake ends a sleep.
func (c *connection) wake(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endSleep(w, nil)
}

// endSleep ends a sleep under the lock, if it has not ended.
func (c *connection) endSleep(w *waiter, err error) {
	if _, sleeps := c.apiCalls[w]; sleeps && !c.cut && !c.over {
		delete(c.apiCalls, w)
		delete(c.waiting, w)
		w.op.Err = err
		close(w.done)
	}
}

// refuse breaks off the calls to the API server.
func (c *connection) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.apiCalls { // the status manager makes one at a time
		c.endSleep(w, errUnreachable)
	}
}

// close cuts the kubelet off. The runtime breaks off the calls under way.
func (c *connection) close() {
	d := c.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	c.cut, d.completed = true, nil
	d.runtime.Disconnect(d.now())
}

// isCut reports whether the kubelet is cut off.
func (c *connection) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}
