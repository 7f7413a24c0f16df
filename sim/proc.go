package sim

import (
	"iter"
	"time"
)

// Proc is a process: code that runs on a coroutine and waits in virtual time.
type Proc struct {
	sim   *Sim
	name  string
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	sleep Timer
	open  bool // waits in a Select or Recv that nothing has been sent to yet
	woken int  // the case of the Select that was
	idle  func() bool
	turns *int64 // how often it ran, with all others of its name

	enabled bool // it was woken and has not run yet
}

// killed unwinds the coroutine of a process that is stopped while it waits.
type killed struct{}

// Go starts a process. It runs at this instant, after what is enabled now. The name
// identifies it in choices and errors and should be unique among what is alive.
func (s *Sim) Go(name string, f func(*Proc)) *Proc {
	p := &Proc{sim: s, name: name, turns: s.meter.Turns(name)}
	p.sleep = Timer{name: "sleep of " + name, proc: p, turns: p.turns, group: s.group}
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(killed{}) {
				panic(r)
			}
		}()
		p.yield = yield
		f(p)
	})
	s.procs.Push(p)
	s.meter.Alive(s.procs.Len(), s.now)
	s.ready.Push(p)
	return p
}

// Name returns the name that Go was given.
func (p *Proc) Name() string { return p.name }

// Now returns the virtual time.
func (p *Proc) Now() time.Duration { return p.sim.now }

// Sim returns the world that the process lives in.
func (p *Proc) Sim() *Sim { return p.sim }

// resume runs the process until it waits or ends.
func (p *Proc) resume() {
	*p.turns++
	p.enabled = false
	if p.idle != nil && p.idle() {
		p.sim.spared += 2 // this turn, and the timer before it
		return
	}
	p.idle, p.sim.group = nil, p.sleep.group
	if _, alive := p.next(); !alive {
		p.sim.procs.Drop(func(o *Proc) bool { return o == p })
	}
}

// Park waits until Wake is called.
func (p *Proc) Park() {
	if !p.yield(struct{}{}) {
		panic(killed{})
	}
}

// ParkWhile waits like Park, but each time that it would run again it asks idle first, and waits on
// if that is true. idle runs in the kernel without a switch of coroutines, must not wait, and sees to
// the next wake-up itself (SleepUntil): idle periodic work costs its virtual time and next to no real time.
func (p *Proc) ParkWhile(idle func() bool) {
	p.idle = idle
	p.Park()
}

// Interrupt ends a ParkWhile without asking.
func (p *Proc) Interrupt() {
	p.sim.Stop(&p.sleep)
	p.idle = nil
	if !p.enabled { // the wake-up may have come at this very instant
		p.Wake()
	}
}

// Wake enables a process that waits in Park, ParkWhile or Sleep.
func (p *Proc) Wake() { p.sim.enable(p) }

// WakeAt enables the process at time t; only for a process that is about to Park or is in ParkWhile.
func (p *Proc) WakeAt(t time.Duration) { p.sim.Set(&p.sleep, t) }

// Sleep waits for d; not at all if d is not positive.
func (p *Proc) Sleep(d time.Duration) {
	if d > 0 {
		p.WakeAt(p.sim.now + d)
		p.Park()
	}
}
