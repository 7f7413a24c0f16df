package realkubelet

import (
	"errors"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// driver makes a fakeruntime wait: the kubelet's goroutines block in call until the runtime says that
// their call is done. It also holds the agenda of the world: steps of the scenario and API latencies.
//
// Everything that it lets happen, it lets happen one at a time: it waits until every goroutine of the
// bubble is blocked, releases one, and waits again. So calls that end at one instant are released in one
// order in every run, and each sees all the consequences of the one before.
type driver struct {
	epoch time.Time // t=0
	wake  chan struct{}
	ended chan struct{} // closed when the agenda is over

	agenda agenda

	mu        sync.Mutex // of what follows; never held while waiting
	runtime   *fakeruntime.Runtime
	completed []*fakeruntime.Op // to be released
	waiting   map[*waiter]struct{}
	apiDown   bool // no kubelet reaches the API server
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

// apiNow returns what the clock of the API server says, which is on another machine.
func (d *driver) apiNow() time.Time { return d.epoch.Add(d.now().Offset()) }

// stepClock has the wall clock of the node jump.
func (d *driver) stepClock(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runtime.StepClock(d.now(), by)
	setClock(d.runtime.Wall(0).Offset())
}

// wallNanos returns a time by the node's wall clock (fakeruntime.Runtime.Wall) as the runtime tells it, in nanoseconds since
// 1970.
func (d *driver) wallNanos(t virtual.Wall) int64 { return d.epoch.Add(t.Offset()).UnixNano() }

// cancelProbes ends the commands that run for probes in a pod.
func (d *driver) cancelProbes(podUID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.over {
		d.runtime.CancelProbes(d.now(), podUID)
		d.poke()
	}
}

// at puts do on the agenda. do must not block.
func (d *driver) at(t virtual.Time, do func()) {
	d.agenda.add(t, do)
	d.poke()
}

// addPod tells the runtime of a pod.
func (d *driver) addPod(p fakeruntime.Pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runtime.AddPod(p)
}

// kill ends a container from outside.
func (d *driver) kill(k fakeruntime.Kill) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runtime.Kill(d.now(), k)
}

// powerOff ends all containers.
func (d *driver) powerOff(back virtual.Time, cause int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runtime.PowerOff(d.now(), back, cause)
}

// setDelays changes the delays of what begins from now on.
func (d *driver) setDelays(list []fakeruntime.Delays) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runtime.SetDelays(list...)
}

// setAPIDown has no kubelet reach the API server, or has them reach it again.
func (d *driver) setAPIDown(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apiDown = down
}

func (d *driver) isAPIDown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.apiDown
}

// setRuntimeHealth has the runtime be well or not from now on.
func (d *driver) setRuntimeHealth(h fakeruntime.Health) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runtime.SetHealth(d.now(), h)
}

// instance returns the instance that a container is.
func (d *driver) instance(containerID string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return 0
	}
	return d.runtime.Instance(containerID)
}

// eventInstance returns the instance that an event about a container belongs to.
func (d *driver) eventInstance(podUID, container, reason string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return 0
	}
	return d.runtime.EventInstance(podUID, container, reason)
}

func (d *driver) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run lets things happen until the time is over, and then closes ended. It is the only goroutine of the
// bubble that may call synctest.Wait.
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

// wait blocks until something is due or comes up.
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

// due returns the next thing to happen at this instant, or nil: first what the runtime has completed,
// then the agenda.
func (d *driver) due() func() {
	if w := d.release(); w != nil {
		return func() { close(w.done) }
	}
	return d.agenda.pop(d.now())
}

// release returns who waits for the next completed call, with the result of the call.
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
	w.take(op)
	d.runtime.Release(op)
	return w
}

// end breaks off what waits, and whatever comes later.
func (d *driver) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.runtime = true, nil
	for w := range d.waiting {
		close(w.done)
	}
	d.waiting = nil
}

// errOver is what calls return when the run is over.
var errOver = errors.New("the run is over")
