// Package sim is a discrete-event kernel: virtual time, processes and choices.
//
// A process is straight-line code on a coroutine. One runs at a time, and it waits only in what this
// package offers: Proc.Sleep, Proc.Park, Chan and Proc.Select. Nothing but the kernel moves time, and
// no time passes while anything can still run at the present instant.
//
// Whatever is not determined goes through a chooser (package choose) at the moment when it is decided: which of
// the enabled processes and due timers goes next, which ready case a select takes, whether a process
// is interrupted at a preemption point, how large a jitter is. The same choices give the same run.
package sim

import (
	"time"

	"probesim.dev/internal/queue"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/internal/coroutine"
	"probesim.dev/sim/limit"
)

// Options configure a Sim. The zero value starts at time 0 with canonical choices and no limits.
type Options struct {
	Start   time.Duration  // virtual time at the beginning; may be negative
	Chooser choose.Chooser // nil: the canonical choices
	Limits  limit.Limits
}

// Sim is one simulated world. It must be used from one goroutine.
type Sim struct {
	now    time.Duration
	timers queue.Timed[*Timer]
	due    queue.FIFO[*Timer] // timers of this instant that have not fired
	ready  queue.FIFO[*Proc]  // enabled processes, in the order in which they go
	woken  *Proc              // the process woken last
	last   queue.FIFO[*Proc]  // processes that let everything else of the instant go first
	procs  queue.FIFO[*Proc]  // all that are alive, in the order in which they were started
	group  *Group             // that what is made now belongs to
	cause  int64              // of what runs now
	stacks coroutine.Pool[*Proc]
	meter  limit.Meter
	choose.Asker
}

// New returns a world at o.Start in which nothing happens yet.
func New(o Options) *Sim {
	return &Sim{
		timers: queue.Timed[*Timer]{Waits: func(t *Timer, set uint64) bool { return t.set == set }},
		now:    o.Start, meter: limit.Meter{Limits: o.Limits}, Asker: choose.Asker{Chooser: o.Chooser},
		stacks: coroutine.Pool[*Proc]{Do: (*Proc).run},
	}
}

// Now returns the virtual time.
func (s *Sim) Now() time.Duration { return s.now }

// Events returns how many timers have fired and processes have run. Ticks that Unless spared do not count here,
// but they count toward limits.
func (s *Sim) Events() int64 { return s.meter.Events() }

// RunUntil lets time pass until t, and everything of the instant t happen. It ends early with a
// *limit.Error when a limit is exceeded.
func (s *Sim) RunUntil(t time.Duration) error {
	for s.meter.Err() == nil {
		if s.step() {
			continue
		}
		at, ok := s.timers.Next()
		if !ok || at > t {
			s.now, s.group, s.cause = max(s.now, t), nil, 0
			return nil
		}
		if s.meter.Move(s.now, at) {
			s.now = at
		}
	}
	return s.meter.Err()
}

// Close ends all processes, the one that was started first first. Their deferred calls run; nothing
// else does. A process must not call it.
func (s *Sim) Close() { s.End(nil) }

// step fires one due timer or resumes one enabled process and reports whether there was one.
func (s *Sim) step() bool {
	for s.timers.Due(s.now) {
		if t, ok := s.timers.Pop(s.now); ok {
			t.set = 0
			s.due.Push(t)
		}
	}
	if s.enabled() == 0 {
		if s.last.Len() == 0 {
			return false
		}
		s.ready.Push(s.last.Remove(0))
	}
	i := s.Next(s.enabled(), s.candidate)
	s.meter.Event(s.now)
	if i < s.due.Len() {
		t := s.due.Remove(i)
		t.of.due(t, s)
		return true
	}
	s.ready.Remove(i - s.due.Len()).resume()
	return true
}

// enabled returns how many timers and processes could go next.
func (s *Sim) enabled() int { return s.due.Len() + s.ready.Len() }

// candidate names one of the due timers and enabled processes.
func (s *Sim) candidate(i int) choose.Choice {
	if i < s.due.Len() {
		t := s.due.At(i)
		return choose.Choice{Kind: choose.Next, Key: t.name, Ordinal: *t.turns}
	}
	p := s.ready.At(i - s.due.Len())
	return choose.Choice{Kind: choose.Next, Key: p.Name(), Ordinal: *p.sleep.turns}
}

// enable has a woken process go next, before those woken or started earlier, as Go's scheduler does with the goroutine
// that was readied last: the one that was to go next goes last now (ready and runqput in runtime/proc.go).
func (s *Sim) enable(p *Proc) {
	if s.ready.Len() > 0 && s.ready.At(0) == s.woken && s.woken.enabled {
		s.ready.Push(s.ready.Remove(0))
	}
	s.ready.PushFront(p)
	s.woken, p.enabled = p, true
}

// Group is a part of the world that can end while the rest goes on, as a program does that crashes: processes,
// timers and tickers. The zero value is a group with nothing in it.
type Group struct{ _ byte }

// In runs f. The processes, timers and tickers that are made meanwhile belong to the group, and so does what
// these make in their turn, but for calls of At.
func (s *Sim) In(g *Group, f func()) {
	defer func(outer *Group) { s.group = outer }(s.group)
	s.group = g
	f()
}

// End ends the processes of a group, the one that was started first first, and stops its timers; nil is all there is.
// Deferred calls of the processes run; nothing else does, and what they start or wake in the group ends too.
// A process of the group must not call it.
func (s *Sim) End(g *Group) {
	timer := func(t *Timer) bool { return g == nil || t.group == g }
	proc := func(p *Proc) bool { return timer(&p.sleep) }
	for i := 0; i < s.procs.Len(); i++ {
		if proc(s.procs.At(i)) {
			s.In(g, s.procs.At(i).stop)
		}
	}
	s.procs.Drop(proc)
	s.ready.Drop(proc)
	s.last.Drop(proc)
	s.timers.Drop(timer)
	s.due.Drop(timer)
	s.stacks.Close()
}
