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
	"cmp"
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/internal/queue"
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
	set    uint64             // how often timers were set
	due    queue.FIFO[*Timer] // timers of this instant that have not fired
	ready  queue.FIFO[*Proc]  // enabled processes, in the order in which they go
	woken  bool               // the first of them was woken, and not only reached its turn
	last   queue.FIFO[*Proc]  // processes that let everything else of the instant go first
	procs  map[*Proc]struct{}
	starts int64
	meter  limit.Meter
	spared int64 // events that led to nothing
	asker  choose.Asker

	candidates []choose.Choice // room for those of one choice
}

// New returns a world at o.Start in which nothing happens yet.
func New(o Options) *Sim {
	return &Sim{
		timers: queue.Timed[*Timer]{Placed: func(t *Timer, place int) { t.pos = place + 1 }},
		now:    o.Start, procs: map[*Proc]struct{}{}, meter: limit.Meter{Limits: o.Limits}, asker: choose.Asker{Chooser: o.Chooser},
	}
}

// Now returns the virtual time.
func (s *Sim) Now() time.Duration { return s.now }

// Canonical reports whether no chooser steers the world.
func (s *Sim) Canonical() bool { return s.asker.Canonical() }

// Events returns how many timers fired and processes were resumed so far, without the idle turns that ParkWhile and
// Unless spared, which limits do count.
func (s *Sim) Events() int64 { return s.meter.Events() - s.spared }

// RunUntil lets time pass until t, and everything of the instant t happen. It ends early with a
// *limit.Error when a limit is exceeded.
func (s *Sim) RunUntil(t time.Duration) error {
	for s.meter.Err() == nil {
		if s.step() {
			continue
		}
		at, ok := s.timers.Next()
		if !ok || at > t {
			s.now = max(s.now, t)
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
func (s *Sim) Close() {
	byStart := func(a, b *Proc) int { return cmp.Compare(a.started, b.started) }
	for len(s.procs) > 0 {
		for _, p := range slices.SortedFunc(maps.Keys(s.procs), byStart) {
			p.stop()
			delete(s.procs, p)
		}
	}
}

// step fires one due timer or resumes one enabled process and reports whether there was one.
func (s *Sim) step() bool {
	for at, ok := s.timers.Next(); ok && at <= s.now; at, ok = s.timers.Next() {
		s.due.Push(s.timers.Pop())
	}
	if s.enabled() == 0 {
		if s.last.Len() == 0 {
			return false
		}
		s.ready.Push(s.last.Remove(0))
	}
	i := s.choose()
	s.meter.Event(s.now)
	if i < s.due.Len() {
		s.due.Remove(i).fire(s)
		return true
	}
	i -= s.due.Len()
	s.woken = s.woken && i > 0
	s.ready.Remove(i).resume()
	return true
}

// enabled returns how many timers and processes could go next.
func (s *Sim) enabled() int { return s.due.Len() + s.ready.Len() }

// enable has a woken process go next, before those woken or started earlier, as Go's scheduler does with the goroutine
// that was readied last: the one that was to go next goes last now (ready and runqput in runtime/proc.go).
func (s *Sim) enable(p *Proc) {
	if s.woken {
		s.ready.Push(s.ready.Remove(0))
	}
	s.ready.PushFront(p)
	s.woken, p.enabled = true, true
}
