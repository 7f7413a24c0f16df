package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/queue"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// runtimeDriver runs the container runtime on the kernel. A call blocks the process that makes it,
// and a timer advances the runtime at the times that the runtime asks for.
type runtimeDriver struct {
	*fakeruntime.Runtime
	sim   *sim.Sim
	timer *sim.Timer
	set   virtual.Time // time of the timer, if it is armed
	armed bool
	proc  *sim.Proc                   // ends the calls that complete at the same instant
	rest  queue.FIFO[*fakeruntime.Op] // calls that have completed and still wait for proc
	after queue.FIFO[func()]          // functions to call when rest is empty
	busy  bool                        // rest or after is not empty, or proc has just emptied them
}

func newRuntimeDriver(s *sim.Sim, r *fakeruntime.Runtime) *runtimeDriver {
	d := &runtimeDriver{Runtime: r, sim: s}
	d.timer = s.NewTimer("runtime", d.advance)
	s.Stand(d.timer)
	d.proc = s.Go("runtime", d.handOut)
	return d
}

// Call makes a call and waits until it returns.
func (d *runtimeDriver) Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	d.sim.Turn(p.Name(), string(c.Method))
	op := d.Submit(p.Now(), c)
	d.arm()
	if !op.Done {
		op.Waiter = p
		p.Park()
	}
	return op
}

// ListsEnds appends the times at which list calls end if they begin at a time, one after the other.
// It appends virtual.Max and no more if the calls may fail, leave records or take no time.
func (d *runtimeDriver) ListsEnds(ends []virtual.Time, at virtual.Time, calls ...fakeruntime.Method) []virtual.Time {
	if d.Down() || d.RecordsCalls() || d.HasFaults() {
		return append(ends, virtual.Max)
	}
	for _, call := range calls {
		took := d.Takes(at, call)
		if took <= 0 {
			return append(ends, virtual.Max)
		}
		at = at.Add(took)
		ends = append(ends, at)
	}
	return ends
}

// SkipLists does what the calls of ListsEnd do besides their answers, a number of times.
func (d *runtimeDriver) SkipLists(p *sim.Proc, times int64, calls int) {
	p.SkipTurns(int64(calls) * times)
	d.sim.SkipFirings(d.timer, int64(calls)*times)
	if d.armed { // the end of each call sets the timer again
		d.sim.Set(d.timer, d.set)
	}
}

// CancelProbes ends the calls that run commands for probes of a pod.
func (d *runtimeDriver) CancelProbes(podUID string) {
	d.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.CancelProbes(now, podUID) })
}

// arm sets the timer to the next time at which the runtime must advance.
func (d *runtimeDriver) arm() {
	at, ok := d.Next()
	if !ok || d.armed && at == d.set {
		return
	}
	d.set, d.armed = at, true
	d.sim.Set(d.timer, at)
}

// advance ends the first call that completes. Further calls that complete at the same instant end
// one by one, each after the consequences of the one before, as with the real kubelet. Calls that
// time out do not wait: their timers are independent of the runtime.
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
			switch { // both are empty if the kubelet has stopped, and its calls with it
			case d.rest.Len() > 0:
				wake(d.rest.Remove(0))
			case d.after.Len() > 0:
				d.after.Remove(0)()
			}
		}
		d.busy = false
	}
}

// afterCalls calls do now, or after all calls that complete at this instant and their consequences.
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

// Disconnect cancels the calls of a kubelet that has stopped.
func (d *runtimeDriver) Disconnect() {
	d.Runtime.Disconnect(d.sim.Now())
	d.rest.Clear()
	d.arm()
}

// now changes the runtime at the present time.
func (d *runtimeDriver) now(change func(*fakeruntime.Runtime, virtual.Time)) {
	change(d.Runtime, d.sim.Now())
	d.arm()
}

// Answer returns the result of a list call that ends now.
func (d *runtimeDriver) Answer(c fakeruntime.Call) *fakeruntime.Op {
	op := d.Runtime.Answer(d.sim.Now(), c)
	d.arm()
	return op
}

// Delay draws a latency of the node that begins now.
func (d *runtimeDriver) Delay(kind fakeruntime.DelayKind) time.Duration {
	return d.Runtime.Delay(d.sim.Now(), kind, "", "")
}

// podDelay draws a latency of a pod that begins now, or of the node if the pod is nil.
func (d *runtimeDriver) podDelay(kind fakeruntime.DelayKind, pod *v1.Pod) time.Duration {
	if pod == nil {
		return d.Delay(kind)
	}
	return d.Runtime.Delay(d.sim.Now(), kind, podutil.DelaysOf(pod), "")
}

// APIGet, APIPatch and APIDelete draw the latencies of the API server's calls.
func (d *runtimeDriver) APIGet(pod *v1.Pod) time.Duration {
	return d.podDelay(fakeruntime.DelayAPIGet, pod)
}

func (d *runtimeDriver) APIPatch(pod *v1.Pod) time.Duration {
	return d.podDelay(fakeruntime.DelayAPIPatch, pod)
}

func (d *runtimeDriver) APIDelete(pod *v1.Pod) time.Duration {
	return d.podDelay(fakeruntime.DelayAPIDelete, pod)
}
