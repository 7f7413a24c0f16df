// Package sim is a discrete-event kernel: virtual time, processes and choices.
//
// A process ([Proc]) is straight-line code that runs on a coroutine. One process runs at a time. It
// gives up control only when it waits: in [Proc.Sleep], [Proc.Park], [Proc.Select], or on a [Chan].
//
// Virtual time is measured from t=0 and stands still while code runs. All events with the same
// virtual time form one instant. When no process and no timer has anything left to do at the
// present instant, the kernel moves time to the next timer.
//
// A choice is a decision that the real program leaves to the scheduler or to chance. The kernel
// asks a chooser (package choose) for each one: which enabled process or due timer goes next, which
// ready case a select takes, how large a jitter is. Without a chooser, every choice is the
// canonical one. The same choices give the same run.
//
// A preemption point ([Proc.Preempt]) marks a place between two statements where the real program
// can be interrupted although it does not wait. The chooser decides whether other processes run
// there.
package sim

import (
	"probesim.dev/internal/queue"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/internal/coroutine"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
)

// Options configure a Sim. The zero value starts at time 0 with canonical choices and no limits.
type Options struct {
	Start   virtual.Time   // the virtual time at the beginning; may be negative
	Chooser choose.Chooser // nil for the canonical choices
	Limits  limit.Limits
	// Interrupt, if set, is called every 1,024 events. If it returns an error, RunUntil stops and
	// returns this error.
	Interrupt func() error
}

// Sim is one simulated world. It must be used from one goroutine.
type Sim struct {
	now        virtual.Time
	until      virtual.Time // how far the present RunUntil runs
	pause      bool         // Pause was called
	timers     timers
	due        queue.FIFO[*Timer] // timers of this instant among which the chooser can choose
	ready      queue.FIFO[*Proc]  // enabled processes, in canonical order
	woken      *Proc              // the process that was woken last
	goesFirst  *Proc              // the process that another one yielded to, nil if there is none
	last       queue.FIFO[*Proc]  // processes that run after everything else at this instant
	procs      queue.FIFO[*Proc]  // all living processes, in the order in which they started
	group      *Group             // the group of the code that runs now
	cause      int64              // of the process or callback that runs now
	stacks     coroutine.Pool[*Proc]
	idleTimers idleTimers // of the last fast-forward, to reuse
	meter      limit.Meter
	choose.Asker
}

// New returns a simulation without processes and timers. Its virtual time is o.Start.
func New(o Options) *Sim {
	return &Sim{
		timers: newTimers(), now: o.Start, meter: limit.Meter{Limits: o.Limits, Interrupt: o.Interrupt},
		Asker:  choose.Asker{Chooser: o.Chooser},
		stacks: coroutine.Pool[*Proc]{Do: (*Proc).run},
	}
}

// Now returns the virtual time.
func (s *Sim) Now() virtual.Time { return s.now }

// Events returns the number of timers that have fired and of turns that processes have run. Ticks
// that SkipIf skips, and what SkipTurns counts, do not count here, but toward limits.
func (s *Sim) Events() int64 { return s.meter.Events() }

// RunUntil runs the simulation until virtual time t, including all events of that instant, or until
// Pause. It stops early and returns a *limit.Error when the run exceeds a limit, or the error of
// Fail or of Options.Interrupt. It cannot continue then.
func (s *Sim) RunUntil(t virtual.Time) error {
	s.until, s.pause = s.meter.Latest(t), false
	for s.meter.Err() == nil {
		if s.pause {
			return nil
		}
		if s.step() {
			continue
		}
		first := s.timers.first()
		if first != nil && first.idle != nil && first.at <= t && s.Skips() {
			s.fastForward(first)
			first = s.timers.first()
		}
		if first == nil || first.at > t {
			s.now, s.group, s.cause = max(s.now, t), nil, 0
			return s.meter.Err() // of a fast-forward
		}
		if s.meter.Move(s.now, first.at) {
			s.now = first.at
		}
	}
	return s.meter.Err()
}

// Pause makes RunUntil return after the present event. The next RunUntil continues from there. It
// has no effect outside RunUntil.
func (s *Sim) Pause() { s.pause = true }

// Fail makes RunUntil return an error after the present event. It has no effect if the run has
// already ended with an error.
func (s *Sim) Fail(err error) { s.meter.Fail(err) }

// Close ends all processes in the order in which they started. It runs only their deferred calls.
// A process must not call it.
func (s *Sim) Close() { s.End(nil) }

// step fires one due timer or resumes one enabled process. It returns false if there is neither.
func (s *Sim) step() bool {
	if p := s.goesFirst; p != nil {
		s.goesFirst = nil
		s.meter.Event(s.now)
		p.resume()
		return true
	}
	for t := s.timers.pop(s.now); t != nil; t = s.timers.pop(s.now) {
		if s.Canonical() {
			s.meter.Event(s.now)
			s.fire(t)
			return true
		}
		s.due.Push(t)
	}
	if s.enabled() == 0 {
		if s.last.Len() == 0 {
			return false
		}
		s.ready.Push(s.last.Remove(0))
	}
	i := s.next()
	s.meter.Event(s.now)
	if i < s.due.Len() {
		s.fire(s.due.Remove(i))
		return true
	}
	s.ready.Remove(i - s.due.Len()).resume()
	return true
}

// enable puts a woken process in front of the processes that were woken or started earlier. The
// process that was woken before it moves to the end. Go's scheduler treats the goroutine that was
// readied last in the same way (ready and runqput in runtime/proc.go).
func (s *Sim) enable(p *Proc) {
	if s.ready.Len() > 0 && s.ready.At(0) == s.woken && s.woken.enabled {
		s.ready.Push(s.ready.Remove(0))
	}
	s.ready.PushFront(p)
	s.woken, p.enabled = p, true
}

// Group is a set of processes, timers and tickers that end together while the rest of the
// simulation continues, such as a program that crashes. The zero value is an empty group.
type Group struct{ _ byte }

// In runs f. The processes, timers and tickers that f creates belong to the group, and so do those
// that they create later. Calls of At belong to no group.
func (s *Sim) In(g *Group, f func()) {
	defer func(outer *Group) { s.group = outer }(s.group)
	s.group = g
	f()
}

// End stops the timers of a group and ends its processes in the order in which they started. It
// runs only the deferred calls of the processes. Processes that deferred calls start or wake in the
// group end too. A nil group stands for the whole simulation. A process of the group must not call
// End.
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
	s.timers.drop(timer)
	s.due.Drop(timer)
	s.stacks.Close()
}
