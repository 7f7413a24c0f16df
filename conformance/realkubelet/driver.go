package realkubelet

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/queue"
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
	epoch    time.Time // t=0
	recorder *recorder
	wake     chan struct{}
	ended    chan struct{} // closed when the run ends

	agenda agenda

	mu        sync.Mutex // protects the following fields; never held while waiting
	runtime   *fakeruntime.Runtime
	completed []*fakeruntime.Op // calls that wait for their release
	waiting   map[*waiter]struct{}
	sockets   []net.Conn  // connections to the runtime
	apiDown   atomic.Bool // the API server is unreachable
	over      bool
}

func newDriver(epoch time.Time, r *recorder, o fakeruntime.Options) *driver {
	all := queue.Timed[func()]{Waits: func(func(), uint64) bool { return true }}
	return &driver{
		epoch: epoch, recorder: r, wake: make(chan struct{}, 1), waiting: map[*waiter]struct{}{}, ended: make(chan struct{}),
		runtime: fakeruntime.New(o), agenda: agenda{items: all},
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

// agenda is a queue of functions, ordered by time and then by the order of addition.
type agenda struct {
	mu    sync.Mutex // the innermost lock: its holder takes no other lock
	items queue.Timed[func()]
}

func (a *agenda) add(t virtual.Time, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items.Push(t, do)
}

// next returns the time of the first item, at most until.
func (a *agenda) next(until virtual.Time) virtual.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, at, ok := a.items.Next(); ok {
		return min(until, at)
	}
	return until
}

// pop removes and returns the first item if it is due, otherwise nil.
func (a *agenda) pop(now virtual.Time) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	do, _ := a.items.Pop(now)
	return do
}

// waiter receives the result of a blocked call.
type waiter struct {
	done chan struct{}
	op   fakeruntime.Op // valid after done is closed
}

// pending is a call in progress.
type pending struct {
	*waiter
	conn        *connection
	id          string          // of the object that the call creates
	accepted    bool            // the program has accepted a connection
	frozenUntil virtual.Time    // when the answering program thaws; 0 if it is not frozen
	secure      bool            // the client speaks TLS
	submitted   *fakeruntime.Op // the submitted call; valid until done is closed
}

// setResult stores the result of a call.
func (w *waiter) setResult(op *fakeruntime.Op) {
	w.op = *op
	w.op.Err = asStatus(op.Err)
}

// wait blocks until the call is done.
func (p *pending) wait() fakeruntime.Op {
	<-p.done
	return p.op
}

// waitForBody blocks until the body of an answer ends. It returns false if the program ends first,
// or the client gives up.
func (p *pending) waitForBody() bool {
	call := fakeruntime.Call{
		Method: fakeruntime.HTTPBody, Ref: p.op.Ref(), Answer: p.op.Answer,
		Probe: p.op.Call.Probe, Hook: p.op.Call.Hook,
	}
	if p.op.Call.Timeout > 0 { // the client has not given up at the header, so some time is left
		call.Timeout = p.op.Start.Add(p.op.Call.Timeout).Sub(p.conn.now())
	}
	done := p.conn.submit(call).wait()
	return done.Err == nil && done.Reply == fakeruntime.Answered && !done.TimedOut
}

// waitThawed blocks while the answering program is frozen. It returns false if the call ends first,
// or at the same instant.
func (p *pending) waitThawed() bool {
	if p.frozenUntil == 0 {
		return true
	}
	thawed := make(chan struct{})
	p.conn.at(p.frozenUntil, func() { p.checkThawed(thawed) })
	select {
	case <-thawed:
		return true
	case <-p.done:
		return false
	}
}

// checkThawed closes thawed if the program is no longer frozen. Otherwise it checks again later,
// because the program may have stalled again, or may hang.
func (p *pending) checkThawed(thawed chan struct{}) {
	d := p.conn.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waits := d.waiting[p.waiter]; !waits {
		return
	}
	if until := p.submitted.FrozenUntil; until > d.now() {
		d.at(until, func() { p.checkThawed(thawed) })
		return
	}
	close(thawed)
}

// asStatus converts an error with the text of a gRPC status to this status.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if text, is := strings.CutPrefix(err.Error(), fmt.Sprintf("rpc error: code = %s desc = ", c)); is {
			return status.Error(c, text)
		}
	}
	return err
}

// shared is a map that goroutines share. The zero value is empty.
type shared[K comparable, V any] struct{ of sync.Map }

// get returns the value of a key, or the zero value if there is none.
func (s *shared[K, V]) get(key K) V {
	found, _ := s.of.Load(key)
	value, _ := found.(V)
	return value
}

func (s *shared[K, V]) set(key K, value V) { s.of.Store(key, value) }
func (s *shared[K, V]) remove(key K)       { s.of.Delete(key) }
