package sim

import (
	"math"
	"time"

	"probesim.dev/sim/virtual"
)

// Idle is what a timer does as long as it finds nothing to do.
type Idle struct {
	// Until returns the last time at which the timer finds nothing to do if nothing else happens until then but the firings of idle
	// timers. It returns a time in the past if the next firing may find something.
	Until func() virtual.Time
	// End returns when the work of a firing ends. Nil: at once.
	End func(at virtual.Time) virtual.Time
	// Period is the time from one firing to the next, or from the end of its work if AfterEnd is set.
	Period   time.Duration
	AfterEnd bool
	// AnyOrder says that the order of a firing among others at its instant does not matter: it takes no time, and wakes no process that
	// another idle timer wakes too.
	AnyOrder bool
	// Fire does what a number of firings do that find nothing, and sets the timer again. It gets the time of the last one and of the
	// end of its work. It must not make an Until earlier. Nil: nothing, for a ticker.
	Fire func(times int64, at, end virtual.Time)
}

// Leap says what a timer does while it finds nothing to do. The kernel lets such timers fire many times in one step, while nothing else
// happens and no choice matters, unless there is a chooser that does not allow it; see choose.Asker.Skips. Their firings do not count as
// events then. The timer is a standing one, as with Stand.
func (s *Sim) Leap(t *Timer, idle Idle) {
	t.idle = &idle
	s.Stand(t)
}

// Leap is Sim.Leap for the ticks of a ticker, whose period it knows. A tick finds something to do if the receiver does not wait for it.
func (t *Ticker) Leap(idle Idle) {
	t.sim.Leap(&t.timer, Idle{
		Until: func() virtual.Time {
			if !t.C.Awaited() {
				return virtual.Min
			}
			return idle.Until()
		},
		End:      idle.End,
		Period:   t.period,
		AnyOrder: idle.AnyOrder,
		Fire: func(times int64, at, end virtual.Time) {
			t.sim.Set(&t.timer, at.Add(t.period))
			if idle.Fire != nil {
				idle.Fire(times, at, end)
			}
		},
	})
}

// Leap is Sim.Leap for the times at which the process wakes up from Sleep. Fire sets the next one with WakeAt.
func (p *Proc) Leap(idle Idle) { p.sim.Leap(&p.sleep, idle) }

const (
	// leapFrom is the shortest time until something else happens that is worth a leap.
	leapFrom = 2 * time.Second
	// longestLeap is the number of firings in a leap, so that limits and interrupts take effect.
	longestLeap = 1 << 10
)

// leap lets the idle timers fire until something else happens. The first timer is idle.
func (s *Sim) leap(first *Timer) {
	until := s.until
	if _, at, ok := s.timers.Next(); ok {
		until = min(until, at-1)
	}
	for _, t := range s.timers.standing {
		if t.set > 0 && t.idle == nil {
			until = min(until, t.at-1)
		}
	}
	if until < first.at.Add(leapFrom) {
		return
	}
	s.leapers = s.leapers[:0]
	for _, t := range s.timers.standing {
		if t.set > 0 && t.idle != nil && t.at <= until { // a later one does not fire
			until = min(until, max(t.idle.Until(), t.at-1))
			s.leapers = append(s.leapers, leaper{timer: t, idle: t.idle, next: t.at, number: t.set})
		}
	}
	for n := range uint64(longestLeap) {
		if !fireIdle(s.leapers, until, math.MaxUint64-longestLeap+n, s.Canonical()) {
			break
		}
	}
	// The last firings follow each other in the order in which they would set their timers.
	for l := nextToSet(s.leapers); l != nil; l = nextToSet(s.leapers) {
		s.now = l.at
		l.timer.count(s, l.times)
		s.meter.Skip(l.times, l.at)
		l.idle.Fire(l.times, l.at, l.end)
		l.times = 0
	}
}

// nextToSet returns the timer that has fired and fired last the longest ago, or nil.
func nextToSet(list []leaper) *leaper {
	var first *leaper
	for i := range list {
		if l := &list[i]; l.times > 0 && (first == nil || l.number < first.number) {
			first = l
		}
	}
	return first
}

// leaper is an idle timer during a leap.
type leaper struct {
	timer   *Timer
	idle    *Idle        // of the timer
	next    virtual.Time // the time of its next firing
	number  uint64       // of two timers with the same time, the one with the lower number fires first
	times   int64        // how often it has fired
	at, end virtual.Time // of its last firing
}

// fireIdle notes a firing of the timer that is first, unless its work would end after a time or while another timer fires, or its order
// among those of the instant matters.
func fireIdle(list []leaper, until virtual.Time, number uint64, canonical bool) bool {
	first := &list[0]
	for i := 1; i < len(list); i++ {
		if l := &list[i]; l.next < first.next || l.next == first.next && l.number < first.number {
			first = l
		}
	}
	if !canonical && !inAnyOrder(list, first.next) {
		return false
	}
	idle, at, end := first.idle, first.next, first.next
	if idle.End != nil {
		end = idle.End(at)
		for i := range list {
			after := list[i].next
			if after == at { // it fires at this instant too, or is the first one
				after = at.Add(list[i].idle.Period)
			}
			if after <= end && (&list[i] != first || !idle.AfterEnd) {
				return false
			}
		}
	}
	if end > until {
		return false
	}
	begin := at
	if idle.AfterEnd {
		begin = end
	}
	first.times, first.at, first.end, first.next, first.number = first.times+1, at, end, begin.Add(idle.Period), number
	return true
}

// inAnyOrder reports whether the timers that fire at an instant can do so in any order. In the canonical order, idle timers do not matter
// to each other. In another order, a process that two timers wake takes one turn or two, and calls that end together take one.
func inAnyOrder(list []leaper, at virtual.Time) bool {
	ordered := 0
	for i := range list {
		if l := &list[i]; l.next == at && !l.idle.AnyOrder {
			ordered++
		}
	}
	return ordered < 2
}
