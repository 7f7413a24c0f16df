package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/queue"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// runtimeDriver has the kernel drive the runtime: who calls waits as a process, and a timer looks at
// the runtime again when it asks for it.
type runtimeDriver struct {
	*fakeruntime.Runtime
	sim   *sim.Sim
	timer *sim.Timer
	set   virtual.Time // what the timer is set to, if it is
	armed bool
	proc  *sim.Proc                   // hands out what ends together
	rest  queue.FIFO[*fakeruntime.Op] // what it has not handed out yet
	after queue.FIFO[func()]          // what comes when it has
	busy  bool                        // it has not done all of that
}

func newRuntimeDriver(s *sim.Sim, r *fakeruntime.Runtime) *runtimeDriver {
	d := &runtimeDriver{Runtime: r, sim: s}
	d.timer = s.NewTimer("runtime", d.advance)
	d.proc = s.Go("runtime", d.handOut)
	return d
}

// Call makes a call and waits until it returns.
func (d *runtimeDriver) Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	op := d.Submit(p.Now(), c)
	d.arm()
	if !op.Done {
		op.Waiter = p
		p.Park()
	}
	return op
}

// CancelProbes ends the calls that run commands for probes of a pod.
func (d *runtimeDriver) CancelProbes(podUID string) {
	d.Runtime.CancelProbes(d.sim.Now(), podUID)
	d.arm()
}

// arm sets the timer to when the runtime is to be looked at next.
func (d *runtimeDriver) arm() {
	at, ok := d.Next()
	if !ok || d.armed && at == d.set {
		return
	}
	d.set, d.armed = at, true
	d.sim.Set(d.timer, at)
}

// advance hands out the first call that has ended; what ends at the same instant follows when
// everything that comes of it has happened, as in the other engine. Who gives up on a program does so by a timer of
// its own, whatever the runtime has to hand out.
func (d *runtimeDriver) advance() {
	d.armed = false
	for _, op := range d.Advance(d.sim.Now()) {
		if op.GivenUp() {
			wake(op)
			continue
		}
		d.rest.Push(op)
	}
	if d.rest.Len() > 0 && !d.busy {
		wake(d.rest.Remove(0))
		if d.busy = d.rest.Len() > 0; d.busy {
			d.proc.Wake()
		}
	}
	d.arm()
}

func (d *runtimeDriver) handOut(p *sim.Proc) {
	for {
		p.Park()
		for d.rest.Len()+d.after.Len() > 0 {
			p.YieldToAll()
			switch { // neither if the kubelet has ended meanwhile, and with it its calls
			case d.rest.Len() > 0:
				wake(d.rest.Remove(0))
			case d.after.Len() > 0:
				d.after.Remove(0)()
			}
		}
		d.busy = false
	}
}

// afterCalls does something now, or when the calls that have ended at this instant have returned and everything that
// comes of them has happened.
func (d *runtimeDriver) afterCalls(do func()) {
	if d.busy {
		d.after.Push(do)
		return
	}
	do()
}

func wake(op *fakeruntime.Op) {
	if p, ok := op.Waiter.(*sim.Proc); ok {
		p.Wake()
	}
}

// Disconnect breaks off the calls of a kubelet that has ended.
func (d *runtimeDriver) Disconnect() {
	d.Runtime.Disconnect(d.sim.Now())
	d.rest.Clear()
	d.arm()
}

// SetHealth has the runtime be well or not from now on.
func (d *runtimeDriver) SetHealth(h fakeruntime.Health) {
	d.Runtime.SetHealth(d.sim.Now(), h)
	d.arm()
}

// Kill ends a container from outside.
func (d *runtimeDriver) Kill(k fakeruntime.Kill) bool {
	killed := d.Runtime.Kill(d.sim.Now(), k)
	d.arm()
	return killed
}

// StepClock has the wall clock of the node jump now.
func (d *runtimeDriver) StepClock(by time.Duration) {
	d.Runtime.StepClock(d.sim.Now(), by)
	d.arm()
}

// Answer returns what a list call answers that ends now.
func (d *runtimeDriver) Answer(c fakeruntime.Call) *fakeruntime.Op {
	op := d.Runtime.Answer(d.sim.Now(), c)
	d.arm()
	return op
}

// Delay draws a latency of the whole run that begins now.
func (d *runtimeDriver) Delay(kind fakeruntime.DelayKind) time.Duration {
	return d.Runtime.Delay(d.sim.Now(), kind, "", "")
}

// PodDelay draws a latency that begins now and has to do with a pod, if there is one.
func (d *runtimeDriver) PodDelay(kind fakeruntime.DelayKind, pod *v1.Pod) time.Duration {
	if pod == nil {
		return d.Delay(kind)
	}
	return d.Runtime.Delay(d.sim.Now(), kind, string(pod.UID), "")
}

// APIGet, APIPatch and APIDelete draw the latencies of the API server's calls.
func (d *runtimeDriver) APIGet(pod *v1.Pod) time.Duration {
	return d.PodDelay(fakeruntime.DelayAPIGet, pod)
}

func (d *runtimeDriver) APIPatch(pod *v1.Pod) time.Duration {
	return d.PodDelay(fakeruntime.DelayAPIPatch, pod)
}

func (d *runtimeDriver) APIDelete(pod *v1.Pod) time.Duration {
	return d.PodDelay(fakeruntime.DelayAPIDelete, pod)
}
