package sim

import (
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/internal/coroutine"
)

// Proc is a process: code that runs on a coroutine and waits in virtual time.
type Proc struct {
	sim     *Sim
	turn    func(*Proc, int) []Case     // nil when it has ended
	stack   *coroutine.Coroutine[*Proc] // nil between turns
	known   []Case                      // channels that know it, whether it waits for them now or not
	woken   int32                       // the case that was
	sent    bool                        // one of these may have a value
	open    bool                        // waits for channels that nothing has been sent to yet
	enabled bool                        // it was woken and has not run yet
	sleep   Timer
}

// sleepOf and the name of the process are the name of its sleep.
const sleepOf = "sleep of "

// Go starts a process. It runs at this instant, after what is enabled now. The name
// identifies it in choices and errors and should be unique among what is alive.
func (s *Sim) Go(name string, f func(*Proc)) *Proc {
	return s.Serve(name, func(p *Proc, _ int) []Case { f(p); return nil })
}

// Serve starts a process that takes turns. A turn does what is due and returns the channels to wait for, as a Select
// does; the next one gets the index of that which had a value, the first -1. The process ends when there are none.
//
// Between turns it has no stack, and looks at no channel that nobody sent to if they are the same again, in the same
// slice: this is for those that are many and wait most of the time.
func (s *Sim) Serve(name string, turn func(p *Proc, index int) []Case) *Proc {
	p := &Proc{sim: s, turn: turn, woken: -1}
	p.sleep = Timer{name: sleepOf + name, of: p, turns: s.meter.Turns(name), group: s.group}
	s.procs.Push(p)
	s.meter.Alive(s.procs.Len(), s.now)
	s.ready.Push(p)
	return p
}

// Name returns the name that Go or Serve was given.
func (p *Proc) Name() string { return p.sleep.name[len(sleepOf):] }

// Now returns the virtual time.
func (p *Proc) Now() time.Duration { return p.sim.now }

// Sim returns the world that the process lives in.
func (p *Proc) Sim() *Sim { return p.sim }

func (p *Proc) due(*Timer, *Sim) { p.Wake() }

// resume runs the process until it waits or ends.
func (p *Proc) resume() {
	*p.sleep.turns++
	p.enabled = false
	p.sim.group = p.sleep.group
	if p.turn != nil && p.sim.stacks.Run(&p.stack, p) && p.turn == nil {
		p.sim.procs.Drop(func(o *Proc) bool { return o == p })
	}
}

// run takes turns until one has to wait for the next.
func (p *Proc) run() {
	for waits := false; !waits && p.turn != nil; {
		if cases := p.turn(p, int(p.woken)); len(cases) > 0 {
			waits = p.await(cases)
		} else {
			p.turn = nil
		}
	}
}

func (p *Proc) stop() {
	p.turn = nil
	p.stack.Stop()
}

// Park waits until Wake is called.
func (p *Proc) Park() { p.stack.Wait() }

// Interrupt enables a process that waits in Park until the time of WakeAt. The timer of WakeAt stops.
func (p *Proc) Interrupt() {
	p.sim.Stop(&p.sleep)
	if !p.enabled { // the wake-up may have come at this very instant
		p.Wake()
	}
}

// Wake enables a process that waits in Park or Sleep.
func (p *Proc) Wake() { p.sim.enable(p) }

// WakeAt enables the process at time t. Call it right before Park.
func (p *Proc) WakeAt(t time.Duration) { p.sim.Set(&p.sleep, t) }

// Sleep waits for d; not at all if d is not positive.
func (p *Proc) Sleep(d time.Duration) {
	if d > 0 {
		p.WakeAt(p.sim.now + d)
		p.Park()
	}
}

// Select waits until one of the channels has a value, receives it and returns the index of the
// channel, whose Got then has the value. When several have one, the chooser picks; when none has, the
// first to be sent to counts, as in Go.
func (p *Proc) Select(cases ...Case) int {
	if p.await(cases) {
		p.Park()
		p.meet(nil)
	}
	return int(p.woken)
}

// await takes a value from one of the channels, or has them hand one over when there is none yet, which it reports.
func (p *Proc) await(cases []Case) bool {
	if known := len(p.known) > 0 && &p.known[0] == &cases[0]; !known || p.sent {
		if p.takeOne(cases) {
			return false
		}
		p.meet(cases)
	}
	p.open = true
	return true
}

// meet has these channels know the process, in place of others.
func (p *Proc) meet(cases []Case) {
	for _, c := range p.known {
		c.know(nil, 0)
	}
	for i, c := range cases {
		c.know(p, i)
	}
	p.known, p.sent = cases, false
}

// takeOne receives from a channel that has a value, if there is one.
func (p *Proc) takeOne(cases []Case) bool {
	ready := make([]int, 0, 8)
	for i, c := range cases {
		if c.Len() > 0 {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return false
	}
	p.woken = int32(ready[p.sim.Choose(choose.SelectCase, p.Name(), len(ready))])
	return cases[p.woken].take()
}

// Preempt is a preemption point: between two statements that do not wait, the real process may be
// interrupted here. The chooser lets it go on, or lets what is enabled now go first, or all else that
// happens at this instant, or one enabled process alone. The canonical choice is to go on.
func (p *Proc) Preempt(point string) {
	s := p.sim
	if s.Canonical() || s.enabled()+s.last.Len() == 0 {
		return
	}
	switch n := s.Choose(choose.Preemption, point+" "+p.Name(), 3+s.ready.Len()); n {
	case 0:
	case 1:
		s.ready.Push(p)
		p.Park()
	case 2:
		p.YieldToAll()
	default:
		s.ready.PushFront(p)
		s.ready.PushFront(s.ready.Remove(n - 2))
		p.Park()
	}
}

// YieldToAll lets all else that happens at this instant go first.
func (p *Proc) YieldToAll() {
	p.sim.last.Push(p)
	p.Park()
}
