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
	runs  *int64

	started int64 // place among all that were started
	group   *Group
}

// killed unwinds the coroutine of a process that is stopped while it waits.
type killed struct{}

// Go starts a process. It runs at this instant, after what is enabled now. The name
// identifies it in choices and errors and should be unique among what is alive.
func (s *Sim) Go(name string, f func(*Proc)) *Proc {
	s.starts++
	p := &Proc{sim: s, name: name, runs: s.counter(name), started: s.starts, group: s.group}
	p.sleep = Timer{name: "sleep of " + name, proc: p, runs: p.runs}
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(killed{}) {
				panic(r)
			}
		}()
		p.yield = yield
		f(p)
	})
	s.procs[p] = struct{}{}
	if m := s.limits.Processes; m > 0 && len(s.procs) > m {
		s.exceed("processes", int64(m))
	}
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
	*p.runs++
	if p.idle != nil && p.idle() {
		return
	}
	p.idle = nil
	p.sim.group = p.group
	if _, alive := p.next(); !alive {
		delete(p.sim.procs, p)
	}
	p.sim.group = nil
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
	if !p.sim.isEnabled(p) { // the wake-up may have come at this very instant
		p.Wake()
	}
}

// Wake enables a process that waits in Park, ParkWhile or Sleep.
func (p *Proc) Wake() { p.sim.enable(p) }

// WakeAt enables the process at time t; only for a process that is about to Park or is in ParkWhile.
func (p *Proc) WakeAt(t time.Duration) { p.sim.schedule(&p.sleep, t) }

// Sleep waits for d; not at all if d is not positive.
func (p *Proc) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	p.WakeAt(p.sim.now + d)
	p.Park()
}

// Preempt is a preemption point: between two statements that do not wait, the real process may be
// interrupted here. The chooser lets it go on, or lets what is enabled now go first, or all else that
// happens at this instant. The canonical choice is to go on.
func (p *Proc) Preempt(point string) {
	s := p.sim
	if s.choices.chooser == nil || s.enabled()+s.last.Len() == 0 {
		return
	}
	switch s.choices.choose(Preemption, point+" "+p.name, 3) {
	case 1:
		s.ready.Push(p)
		p.Park()
	case 2:
		p.YieldToAll()
	}
}

// YieldToAll lets all else that happens at this instant go first.
func (p *Proc) YieldToAll() {
	p.sim.last.Push(p)
	p.Park()
}
