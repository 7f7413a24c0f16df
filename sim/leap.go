package sim

import (
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
	// Fire does what a firing does that finds nothing, and sets the timer again. It must not make an Until earlier. Nil: nothing, for
	// a ticker.
	Fire func(at, end virtual.Time)
}

// Leap says what a timer does while it finds nothing to do. Without a chooser, the kernel lets such timers fire many times in one step,
// while nothing else happens. Their firings do not count as events then. The timer is a standing one, as with Stand.
func (s *Sim) Leap(t *Timer, idle Idle) {
	t.idle = &idle
	s.Stand(t)
}

// Leap is Sim.Leap for the ticks of a ticker. A tick finds something to do if the receiver does not wait for it.
func (t *Ticker) Leap(idle Idle) {
	t.sim.Leap(&t.timer, Idle{
		Until: func() virtual.Time {
			if !t.C.Awaited() {
				return virtual.Min
			}
			return idle.Until()
		},
		End: idle.End,
		Fire: func(at, end virtual.Time) {
			t.sim.Set(&t.timer, at.Add(t.period))
			if idle.Fire != nil {
				idle.Fire(at, end)
			}
		},
	})
}

// leapFrom is the shortest time until something else happens that is worth a leap.
const leapFrom = 2 * time.Second

// leap lets the idle timers fire until something else happens. The first timer is idle.
func (s *Sim) leap(first *Timer) {
	until := s.until
	if _, at, ok := s.timers.Next(); ok {
		until = min(until, at-1)
	}
	if until < first.at.Add(leapFrom) {
		return
	}
	for _, t := range s.timers.standing {
		switch {
		case t.set == 0:
		case t.idle == nil:
			until = min(until, t.at-1)
		default:
			until = min(until, max(t.idle.Until(), t.at-1))
		}
	}
	for first.at <= until && s.meter.Err() == nil && s.fireIdle(first, until) {
		first = s.timers.search(nil)
	}
}

// fireIdle fires the first timer, which is idle, unless its work would end after a time or while another timer fires. Idle timers that
// fire at the same instant do not matter to each other.
func (s *Sim) fireIdle(first *Timer, until virtual.Time) bool {
	at, end := first.at, first.at
	if first.idle.End != nil {
		end = first.idle.End(at)
		for _, t := range s.timers.standing {
			if t.set > 0 && t.at > at && t.at <= end {
				return false
			}
		}
	}
	if end > until || !s.meter.Move(s.now, at) {
		return false
	}
	s.now = at
	first.count(s)
	s.meter.Skip(1, at)
	first.idle.Fire(at, end)
	return true
}
