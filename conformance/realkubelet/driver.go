package realkubelet

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// driver connects the fakeruntime to the kubelet's goroutines, which block in call until the
// runtime reports that their call is done. It also holds the agenda of the run: the steps of the
// scenario and API latencies.
//
// The driver lets one event happen at a time. It waits until every goroutine of the bubble is
// blocked, releases one, and waits again. Calls that end at one instant therefore return in the
// same order in every run, and each sees all consequences of the previous one.
type driver struct {
	epoch time.Time // t=0
	wake  chan struct{}
	ended chan struct{} // closed when the run ends

	agenda agenda

	mu        sync.Mutex // protects the following fields; never held while waiting
	runtime   *fakeruntime.Runtime
	completed []*fakeruntime.Op // calls that wait for their release
	waiting   map[*waiter]struct{}
	sockets   []net.Conn  // connections to the runtime
	apiDown   atomic.Bool // the API server is unreachable
	over      bool
}

func newDriver(epoch time.Time, o fakeruntime.Options) *driver {
	return &driver{
		epoch:   epoch,
		wake:    make(chan struct{}, 1),
		waiting: map[*waiter]struct{}{},
		ended:   make(chan struct{}),
		runtime: fakeruntime.New(o),
	}
}

// now returns the virtual time since t=0.
func (d *driver) now() virtual.Time { return virtual.At(time.Since(d.epoch)) }

// apiNow returns the time on the API server's clock, which steps of the node's clock do not affect.
func (d *driver) apiNow() time.Time { return d.epoch.Add(d.now().Offset()) }

// stepClock steps the wall clock of the node.
func (d *driver) stepClock(by time.Duration) {
	d.change(func(r *fakeruntime.Runtime, now virtual.Time) {
		r.StepClock(now, by)
		setClock(r.Wall(0).Offset())
	})
}

// wallNanos converts a time on the node's wall clock (fakeruntime.Runtime.Wall) to nanoseconds
// since 1970.
func (d *driver) wallNanos(t virtual.Wall) int64 { return d.epoch.Add(t.Offset()).UnixNano() }

// setHealth sets the health of the runtime. Its connections end when it goes down.
func (d *driver) setHealth(h fakeruntime.Health) {
	d.change(func(r *fakeruntime.Runtime, now virtual.Time) {
		r.SetHealth(now, h)
		if h.Down {
			for _, s := range d.sockets {
				s.Close()
			}
			d.sockets = nil
		}
	})
}

// cancelProbes ends the commands of probes in a pod.
func (d *driver) cancelProbes(podUID string) {
	d.change(func(r *fakeruntime.Runtime, now virtual.Time) {
		r.CancelProbes(now, podUID)
		d.poke()
	})
}

// at schedules do at time t. do must not block.
func (d *driver) at(t virtual.Time, do func()) {
	d.agenda.add(t, do)
	d.poke()
}

// change changes or asks the runtime, unless the run is over.
func (d *driver) change(do func(r *fakeruntime.Runtime, now virtual.Time)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.over {
		do(d.runtime, d.now())
	}
}

// instance returns the instance of a container: its number of restarts.
func (d *driver) instance(containerID string) (instance int) {
	d.change(func(r *fakeruntime.Runtime, _ virtual.Time) { instance = r.Instance(containerID) })
	return instance
}

// eventInstance returns the instance that an event about a container refers to.
func (d *driver) eventInstance(podUID, container, reason string) (instance int) {
	d.change(func(r *fakeruntime.Runtime, _ virtual.Time) { instance = r.EventInstance(podUID, container, reason) })
	return instance
}

func (d *driver) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run executes all events in order until the given time, and then closes ended. It is the only
// goroutine of the bubble that may call synctest.Wait.
func (d *driver) run(until virtual.Time) {
	for {
		synctest.Wait()
		if do := d.due(); do != nil {
			do()
			continue
		}
		if d.now() >= until {
			close(d.ended)
			return
		}
		d.wait(until)
	}
}

// wait blocks until an event is due or a new one arrives.
func (d *driver) wait(until virtual.Time) {
	next := d.agenda.next(until)
	d.mu.Lock()
	if at, ok := d.runtime.Next(); ok {
		next = min(next, at)
	}
	d.mu.Unlock()
	timer := time.NewTimer(next.Sub(d.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.wake:
	}
}

// due returns the next event that is due, or nil. Completed calls come before the agenda.
func (d *driver) due() func() {
	if w := d.release(); w != nil {
		return func() { close(w.done) }
	}
	return d.agenda.pop(d.now())
}

// release returns the waiter of the next completed call with the call's result, or nil.
func (d *driver) release() *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.completed) == 0 {
		d.completed = slices.Clone(d.runtime.Advance(d.now()))
	}
	if len(d.completed) == 0 {
		return nil
	}
	op := d.completed[0]
	d.completed = d.completed[1:]
	w := op.Waiter.(*waiter)
	delete(d.waiting, w)
	w.setResult(op)
	d.runtime.Release(op)
	return w
}

// end ends all waiting calls, and makes later calls return immediately.
func (d *driver) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.runtime = true, nil
	for w := range d.waiting {
		close(w.done)
	}
	d.waiting = nil
}

// errRunEnded is the error of calls after the end of the run.
var errRunEnded = errors.New("the run is over")
