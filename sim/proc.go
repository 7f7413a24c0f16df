package sim

import (
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/internal/coroutine"
	"probesim.dev/sim/virtual"
)

// Proc is a process: code that runs on a coroutine and waits in virtual time. It belongs to one Sim
// and starts with Sim.Go.
type Proc struct {
	sim    *Sim
	start  func(*Proc)                 // nil once the process has begun
	serves []Case                      // the cases of Serve, to wait for when the present function returns
	stack  *coroutine.Coroutine[*Proc] // nil while the process needs no stack
	// the cases whose channels have the process as their receiver, whether it waits for them now or
	// not
	known   []Case
	woken   int32 // the index of the case that was chosen last
	sent    bool  // a channel of known may have a value
	open    bool  // the process waits for the channels of known, which are empty
	enabled bool  // the process was woken and has not run yet
	yields  bool  // the process is in YieldToOne
	ended   bool
	cause   int64 // valid while the process does not run; while it runs, Sim has its cause
	digest  digest
	sleep   Timer
}

// Go starts a process. It runs at the present instant, after everything that is enabled now. The
// name identifies the process in choices and errors; use a name that no other living process or
// timer has. The process ends when f returns, unless f calls Serve.
func (s *Sim) Go(name string, f func(*Proc)) *Proc {
	p := &Proc{sim: s, start: f, cause: s.cause}
	p.sleep = Timer{name: name, of: p, turns: s.meter.Turns(name), group: s.group}
	s.procs.Push(p)
	s.meter.Alive(s.procs.Len(), s.now)
	s.ready.Push(p)
	return p
}

// Serve makes the process continue when its function, or the handler that runs now, returns: the
// process then waits for one of the cases, runs its handler, waits again, and so on until a handler
// calls Exit. The process behaves like one that calls Select in a loop, but needs no stack while it
// waits. Use Serve if you have many processes that mostly wait. A handler may call Serve again to
// wait for other cases.
func (p *Proc) Serve(cases ...Case) { p.serves = cases }

// Exit ends a process that serves when its present handler returns.
func (p *Proc) Exit() { p.serves = nil }

// Release gives up the channels that a process receives from, so that another process can receive
// from them. Call it while a handler of the process waits, and call Exit when the handler returns.
func (p *Proc) Release() { p.register(nil) }

// Name returns the name that Go was given.
func (p *Proc) Name() string { return p.sleep.name }

// Now returns the virtual time.
func (p *Proc) Now() virtual.Time { return p.sim.now }

// Sim returns the simulation that the process belongs to.
func (p *Proc) Sim() *Sim { return p.sim }

func (p *Proc) due(*Timer, *Sim) { p.Wake() }

// resume runs the process until it waits or ends.
func (p *Proc) resume() {
	*p.sleep.turns++
	p.enabled = false
	p.sim.group, p.sim.cause = p.sleep.group, p.cause
	if !p.ended && p.sim.stacks.Run(&p.stack, p) && p.ended {
		p.sim.procs.Drop(func(o *Proc) bool { return o == p })
	}
	p.cause = p.sim.cause
}

// run runs the function of the process, or the handler of the chosen case, and then further
// handlers until the process has to wait or ends.
func (p *Proc) run() {
	if start := p.start; start != nil {
		p.start = nil
		start(p)
	} else {
		p.serves[p.woken].handle(p)
	}
	for len(p.serves) > 0 {
		if p.await(p.serves) {
			return
		}
		p.serves[p.woken].handle(p)
	}
	p.ended = true
}

func (p *Proc) stop() {
	p.ended = true
	p.sim.stacks.Stop(&p.stack)
}

// Park waits until Wake is called.
func (p *Proc) Park() { p.stack.Wait() }

// Interrupt enables a process that waits in Park until the time of WakeAt. The timer of WakeAt
// stops.
func (p *Proc) Interrupt() {
	p.sim.Stop(&p.sleep)
	if !p.enabled { // the timer may have woken it at this very instant
		p.Wake()
	}
}

// Wake enables a process that waits in Park or Sleep.
func (p *Proc) Wake() { p.sim.enable(p) }

// WakeAt enables the process at time t. Call it right before Park.
func (p *Proc) WakeAt(t virtual.Time) { p.sim.Set(&p.sleep, t) }

// Sleep waits for d. It returns immediately if d is not positive.
func (p *Proc) Sleep(d time.Duration) {
	if d > 0 {
		p.WakeAt(p.sim.now.Add(d))
		p.Park()
	}
}

// Select waits until the channel of one of the cases has a value, receives the value and runs the
// handler of the case. When several channels have a value, the chooser picks one; when none has,
// the first channel to be sent to wins, as in Go.
func (p *Proc) Select(cases ...Case) {
	if p.await(cases) {
		p.Park()
		p.register(nil)
	}
	if handle := cases[p.woken].handle; handle != nil {
		handle(p)
	}
}

// await takes a value from one of the channels and returns false. If all are empty, it returns
// true: the process must wait, and gets the first value that is sent. With the same slice of cases
// as before, await polls the channels only if something has been sent since.
func (p *Proc) await(cases []Case) bool {
	if known := len(p.known) > 0 && &p.known[0] == &cases[0]; !known || p.sent {
		if p.takeOne(cases) {
			return false
		}
		p.register(cases)
	}
	p.open = true
	return true
}

// register makes the process the receiver of the channels of these cases and of no others.
func (p *Proc) register(cases []Case) {
	for _, c := range p.known {
		c.channel.setReceiver(nil, 0)
	}
	for i, c := range cases {
		c.channel.setReceiver(p, i)
	}
	p.known, p.sent = cases, false
}

// takeOne receives from one of the channels that have a value. It returns false if none has.
func (p *Proc) takeOne(cases []Case) bool {
	ready := make([]int, 0, 8)
	for i, c := range cases {
		if c.channel.Len() > 0 {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return false
	}
	if len(ready) > 1 {
		choose.Guided(&p.sim.Asker, p.Name(), ready, func(i int) string { return cases[i].channel.label() })
	}
	p.woken = int32(ready[p.sim.Choose(choose.SelectCase, p.Name(), len(ready))])
	return cases[p.woken].channel.take()
}

// Preempt marks a preemption point: a place between two statements where the real program can be
// interrupted although it does not wait. The chooser picks whether the process continues (the
// canonical choice), lets everything that is enabled now go first, lets everything else at this
// instant go first, or lets one enabled process go first.
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

// PreemptBefore is Preempt at a point that lies directly before a turn of the process. If a Guide
// knows when a real run reached this turn, the order of the real run decides who goes first.
func (p *Proc) PreemptBefore(point, turn string) {
	if !p.sim.Places(p.Name(), turn) {
		p.Preempt(point)
		return
	}
	p.sim.ready.Push(p)
	p.Park()
}

// Turn tells a Guide that the process reaches a point now.
func (p *Proc) Turn(point string) { p.sim.Turn(p.Name(), point) }

// YieldToOne lets one enabled process go first, and reports whether there is one. Processes that
// yield themselves do not count.
func (p *Proc) YieldToOne() bool {
	s := p.sim
	var others []int
	for i := range s.ready.Len() {
		if !s.ready.At(i).yields {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return false
	}
	i := others[s.Next(len(others), func(i int) choose.Choice { return s.candidate(s.due.Len() + others[i]) })]
	s.goesFirst = s.ready.Remove(i)
	s.ready.PushFront(p)
	p.yields = true
	p.Park()
	p.yields = false
	return true
}

// Yield lets everything that is enabled now go first, unless the chooser picks another order.
func (p *Proc) Yield() {
	p.sim.ready.Push(p)
	p.Park()
}

// YieldToAll lets everything else at this instant go first.
func (p *Proc) YieldToAll() {
	p.sim.last.Push(p)
	p.Park()
}
