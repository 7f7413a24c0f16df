// Package sim is a discrete-event kernel: virtual time, processes and choices.
//
// A process is straight-line code on a coroutine. One runs at a time, and it waits only in what this
// package offers: Proc.Sleep, Proc.Park, Chan and Proc.Select. Nothing but the kernel moves time, and
// no time passes while anything can still run at the present instant.
//
// Whatever is not determined goes through the Chooser at the moment when it is decided: which of
// the enabled processes and due timers goes next, which ready case a select takes, whether a process
// is interrupted at a preemption point, how large a jitter is. The same choices give the same run.
package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/internal/queue"
)

// Limits bound a run. A zero field has no limit.
type Limits struct {
	Events    int64 // timers fired and processes resumed
	Processes int   // processes alive at once
	// AtOneInstant bounds the events during which time stands still.
	AtOneInstant int64
	// Time is the latest virtual time that may be reached.
	Time time.Duration
}

const limitTime = "virtual time"

// LimitError says which limit ended a run and which process or timer had run most often.
type LimitError struct {
	Limit string // events, processes, events at one instant or virtual time
	Max   int64
	Now   time.Duration
	Name  string // the process or timer that ran most often
	Runs  int64
}

func (e *LimitError) Error() string {
	if e.Limit == limitTime {
		return fmt.Sprintf("stopped at %v: the limit of virtual time is %v; %q ran %d times", e.Now, time.Duration(e.Max), e.Name, e.Runs)
	}
	return fmt.Sprintf("stopped at %v: more than %d %s; %q ran %d times", e.Now, e.Max, e.Limit, e.Name, e.Runs)
}

// Options configure a Sim. The zero value starts at time 0 with canonical choices and no limits.
type Options struct {
	Start   time.Duration // virtual time at the beginning; may be negative
	Chooser Chooser       // nil: the canonical choices
	Limits  Limits
}

// Sim is one simulated world. It must be used from one goroutine.
type Sim struct {
	now      time.Duration
	limits   Limits
	timers   queue.Timed[*Timer]
	seq      uint64
	due      queue.FIFO[*Timer] // timers of this instant that have not fired
	next     *Proc              // the process enabled last, which goes before the other enabled ones
	ready    queue.FIFO[*Proc]  // the other enabled processes, the longest enabled first
	last     queue.FIFO[*Proc]  // processes that let everything else of the instant go first
	procs    map[*Proc]struct{}
	starts   int64
	ran      map[string]*int64 // how often what has a name ran
	choices  choices
	group    *Group // that what is made now belongs to
	events   int64
	instant  int64 // events since time last moved
	exceeded *LimitError
}

// New returns a world at o.Start in which nothing happens yet.
func New(o Options) *Sim {
	return &Sim{
		timers: queue.Timed[*Timer]{Placed: func(t *Timer, place int) { t.pos = place + 1 }},
		now:    o.Start, limits: o.Limits, procs: map[*Proc]struct{}{}, ran: map[string]*int64{},
		choices: choices{chooser: o.Chooser},
	}
}

// Now returns the virtual time.
func (s *Sim) Now() time.Duration { return s.now }

// Canonical reports whether no chooser steers the world.
func (s *Sim) Canonical() bool { return s.choices.chooser == nil }

// Events returns how many timers fired and processes were resumed so far.
func (s *Sim) Events() int64 { return s.events }

// RunUntil lets time pass until t, and everything of the instant t happen. It ends early with a
// *LimitError when a limit is exceeded.
func (s *Sim) RunUntil(t time.Duration) error {
	for s.exceeded == nil {
		if s.step() {
			continue
		}
		at, ok := s.timers.Next()
		if !ok || at > t {
			s.now = max(s.now, t)
			return nil
		}
		if m := s.limits.Time; m > 0 && at > m {
			s.exceed(limitTime, int64(m))
			break
		}
		s.now, s.instant = at, 0
	}
	return s.exceeded
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
	i := 0
	if s.choices.chooser != nil && s.enabled() > 1 {
		i = s.choices.next(s)
	}
	s.count()
	if i < s.due.Len() {
		s.due.Remove(i).fire(s)
		return true
	}
	i -= s.due.Len()
	p := s.next
	switch {
	case p == nil:
		p = s.ready.Remove(i)
	case i == 0:
		s.next = nil
	default:
		p = s.ready.Remove(i - 1)
	}
	p.resume()
	return true
}

// enabled returns how many timers and processes could go next.
func (s *Sim) enabled() int {
	n := s.due.Len() + s.ready.Len()
	if s.next != nil {
		n++
	}
	return n
}

func (s *Sim) isEnabled(p *Proc) bool {
	for i := range s.ready.Len() {
		if s.ready.At(i) == p {
			return true
		}
	}
	return s.next == p
}

// enable has a woken process go next, before those woken or started earlier, as Go's scheduler does with the goroutine
// that was readied last (ready and runqput in runtime/proc.go).
func (s *Sim) enable(p *Proc) {
	if s.next != nil {
		s.ready.Push(s.next)
	}
	s.next = p
}

// count counts an event and notes when that is one too many.
func (s *Sim) count() {
	s.events++
	s.instant++
	if m := s.limits.Events; m > 0 && s.events > m {
		s.exceed("events", m)
	}
	if m := s.limits.AtOneInstant; m > 0 && s.instant > m {
		s.exceed("events at one instant", m)
	}
}

func (s *Sim) exceed(limit string, m int64) {
	if s.exceeded != nil {
		return
	}
	e := &LimitError{Limit: limit, Max: m, Now: s.now, Runs: -1}
	for name, n := range s.ran {
		if *n > e.Runs || *n == e.Runs && name < e.Name {
			e.Name, e.Runs = name, *n
		}
	}
	s.exceeded = e
}

// counter returns what counts how often a process or timer of that name runs. It goes on where an earlier
// one of the name ended, so that a choice about either means only one.
func (s *Sim) counter(name string) *int64 {
	n, ok := s.ran[name]
	if !ok {
		n = new(int64)
		s.ran[name] = n
	}
	return n
}
