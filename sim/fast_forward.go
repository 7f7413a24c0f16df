package sim

import (
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// Idle is what a timer does as long as it finds nothing to do.
type Idle struct {
	// Until returns the last time at which the timer finds nothing to do if nothing else happens
	// until then but the firings of idle timers. It returns a time in the past if the next firing
	// may find something.
	Until func() virtual.Time
	// Ends appends the times at which the calls that a firing makes one after the other return. The
	// last one is the end of its work. Nil: at once.
	Ends func(ends []virtual.Time, at virtual.Time) []virtual.Time
	// Period is the time from one firing to the next, or from the end of its work if AfterEnd is
	// set.
	Period   time.Duration
	AfterEnd bool
	// AnyOrder says that the order of a firing among others at its instant does not matter: it
	// takes no time, calls nothing, and wakes no process that another idle timer wakes too.
	AnyOrder bool
	// Fire does what a number of firings do that find nothing, and sets the timer again. It gets
	// the time of the last one and of the end of its work. It must not make an Until earlier. Nil:
	// nothing, for a ticker.
	Fire func(times int64, at, end virtual.Time)
}

// FastForward says what a timer does while it finds nothing to do. The kernel lets such timers fire
// many times in one step, while nothing else happens and no choice matters, unless there is a
// chooser that does not allow it; see choose.Asker.Skips. Their firings do not count as events
// then. The timer is a standing one, as with Stand.
func (s *Sim) FastForward(t *Timer, idle Idle) {
	t.idle = &idle
	s.Stand(t)
}

// FastForward is Sim.FastForward for the ticks of a ticker, whose period it knows. A tick finds
// something to do if the receiver does not wait for it.
func (t *Ticker) FastForward(idle Idle) {
	t.sim.FastForward(&t.timer, Idle{
		Until: func() virtual.Time {
			if !t.C.Awaited() {
				return virtual.Min
			}
			return idle.Until()
		},
		Ends:     idle.Ends,
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

// FastForward is Sim.FastForward for the times at which the process wakes up from Sleep. Fire sets
// the next one with WakeAt.
func (p *Proc) FastForward(idle Idle) { p.sim.FastForward(&p.sleep, idle) }

const (
	// fastForwardFrom is the shortest time until something else happens that is worth it.
	fastForwardFrom = 2 * time.Second
	// mostFirings is the number of firings whose order matters in a fast-forward, so that limits
	// and interrupts take effect.
	mostFirings = 1 << 10
)

// fastForward lets the idle timers fire until something else happens. The first timer is idle.
func (s *Sim) fastForward(first *Timer) {
	until := s.until
	if _, at, ok := s.timers.Next(); ok {
		until = min(until, at-1)
	}
	for _, t := range s.timers.standing {
		if t.set > 0 && t.idle == nil {
			until = min(until, t.at-1)
		}
	}
	if until < first.at.Add(fastForwardFrom) {
		return
	}
	l := &s.idleTimers
	l.begin()
	for _, t := range s.timers.standing {
		if t.set > 0 && t.idle != nil && t.at <= until { // a later one does not fire
			until = min(until, max(t.idle.Until(), t.at-1))
			l.add(idleTimer{timer: t, idle: t.idle, next: t.at, set: virtual.Min, before: virtual.Min, number: t.set})
		}
	}
	l.fire(until, s.Canonical())
	// The last firings follow each other in the order in which they would set their timers.
	now := s.now
	for f := l.firstToSet(); f != nil; f = l.firstToSet() {
		s.now = f.at
		f.timer.count(s, f.times)
		s.meter.Skip(f.times, f.at)
		f.idle.Fire(f.times, f.at, f.end)
		now, f.times = max(now, f.at), 0
	}
	s.now = now
}

// idleTimer is an idle timer during a fast-forward.
type idleTimer struct {
	timer   *Timer
	idle    *Idle        // of the timer
	next    virtual.Time // the time of its next firing
	set     virtual.Time // when it was set to that time, virtual.Min if before the fast-forward
	before  virtual.Time // when it was set the time before
	number  uint64       // of the setting before the fast-forward
	times   int64        // how often it has fired
	at, end virtual.Time // of its last firing
}

// setBefore reports whether a timer was set before another one. Timers that are set at one time
// fire then, in the order in which they were set before.
func (l *idleTimer) setBefore(o *idleTimer) bool {
	switch {
	case l.set != o.set:
		return l.set < o.set
	case l.before != o.before:
		return l.before < o.before
	}
	return l.number < o.number
}

// fire notes a firing whose work ends at a time.
func (l *idleTimer) fire(end virtual.Time) {
	begin := l.next
	if l.idle.AfterEnd {
		begin = end
	}
	l.times, l.at, l.end, l.next, l.set, l.before = l.times+1, l.next, end, begin.Add(l.idle.Period), begin, l.set
}

// fireUntil notes the firings until a time that take no time.
func (l *idleTimer) fireUntil(until virtual.Time) {
	if l.next > until {
		return
	}
	if more := int64(until.Sub(l.next) / l.idle.Period); more > 0 {
		l.times, l.next = l.times+more, l.next.Add(time.Duration(more)*l.idle.Period)
		l.set = l.next.Add(-l.idle.Period)
	}
	l.fire(l.next)
}

// idleTimers are the idle timers of a fast-forward. The zero value has none.
type idleTimers struct {
	all     []idleTimer
	ordered int            // how many of them have an order that matters. They come first.
	ends    []virtual.Time // of the firing that fits looks at

	// Firings whose work overlaps are skipped together or not at all.
	saved []idleTimer    // all, before the first of these firings
	busy  []virtual.Time // when calls of these firings return
	until virtual.Time   // when the last of them returns
}

func (l *idleTimers) begin() { l.all, l.ordered, l.until = l.all[:0], 0, virtual.Min }

func (l *idleTimers) add(t idleTimer) {
	l.all = append(l.all, t)
	if !t.idle.AnyOrder {
		last := len(l.all) - 1
		l.all[l.ordered], l.all[last] = l.all[last], l.all[l.ordered]
		l.ordered++
	}
}

// fire notes firings until a time, as long as the order among them does not matter.
func (l *idleTimers) fire(until virtual.Time, canonical bool) {
	first := l.first()
	for n := 0; n < mostFirings && first != nil && first.next <= until; n++ {
		end, ok := l.fits(first, until, canonical)
		if !ok {
			break
		}
		first.fire(end)
		first = l.first()
	}
	if first != nil && first.next <= l.until { // not all work that overlaps can be skipped
		copy(l.all, l.saved)
		first = l.first()
	}
	if first != nil {
		until = min(until, first.next-1)
	}
	for i := l.ordered; i < len(l.all); i++ {
		l.all[i].fireUntil(until)
	}
}

// first returns the timer that fires next of those whose order matters, nil if there is none.
func (l *idleTimers) first() *idleTimer {
	if l.ordered == 0 {
		return nil
	}
	first := &l.all[0]
	for i := 1; i < l.ordered; i++ {
		if t := &l.all[i]; t.next < first.next || t.next == first.next && t.setBefore(first) {
			first = t
		}
	}
	return first
}

// firstToSet returns the timer that has fired and would be set first, or nil.
func (l *idleTimers) firstToSet() *idleTimer {
	var first *idleTimer
	for i := range l.all {
		if t := &l.all[i]; t.times > 0 && (first == nil || t.setBefore(first)) {
			first = t
		}
	}
	return first
}

// fits returns when the work of the next firing of a timer ends, and whether a fast-forward can go
// over the firing: its work ends until a time, and its order among others does not matter. In the
// canonical order, idle timers that fire at one instant do not matter to each other. In another
// order, a process that two timers wake takes one turn or two, and calls that end together take
// one.
func (l *idleTimers) fits(f *idleTimer, until virtual.Time, canonical bool) (end virtual.Time, ok bool) {
	at := f.next
	end = at
	if l.ends = l.ends[:0]; f.idle.Ends != nil {
		l.ends = f.idle.Ends(l.ends, at)
		end = l.ends[len(l.ends)-1]
	}
	if end > until || !f.idle.AfterEnd && end >= at.Add(f.idle.Period) {
		return end, false
	}
	overlaps := at <= l.until
	for i := range l.ordered {
		t := &l.all[i]
		if t == f {
			continue
		}
		if t.next == at && !canonical {
			return end, false
		}
		next := t.next
		if next == at {
			next = at.Add(t.idle.Period) // if the timer has AfterEnd, it fires later
		}
		overlaps = overlaps || next <= end
	}
	return end, !overlaps || l.overlap(at, end)
}

// overlap notes a firing whose work overlaps with the work of others. It returns false if a call
// returns when another one does, or when another of the timers fires.
func (l *idleTimers) overlap(at, end virtual.Time) bool {
	if at > l.until { // it is the first
		l.saved, l.busy = append(l.saved[:0], l.all...), l.busy[:0]
	}
	if slices.Contains(l.busy, at) || slices.ContainsFunc(l.ends,
		func(end virtual.Time) bool { return slices.Contains(l.busy, end) }) {
		return false
	}
	l.busy, l.until = append(l.busy, l.ends...), max(l.until, end)
	return true
}
