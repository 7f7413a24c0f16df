package bounds

import (
	"math"
	"time"
)

// place is the place of the exit or of the start of an instance in the phase of the relists.
type place struct {
	of  mark
	to  relist // the call
	off time.Duration
}

// nearest returns the place of the exit or of the start that is next to a relist, or that of the start if there is none. A place next to a
// relist is far enough from it that rounding does not change their order.
func (l landmarks) nearest() *place {
	for _, m := range []mark{landmarks.exitTime, landmarks.startTime} {
		for _, r := range l.relists {
			switch off := m(l).Sub(r.at); {
			case off >= 0 && off <= fine:
				return &place{m, r, fine}
			case off < 0 && off >= -fine:
				return &place{m, r, -fine}
			}
		}
	}
	list := l.closest(landmarks.startTime)
	if len(list) == 0 {
		return nil
	}
	return &place{landmarks.startTime, list[0], l.start.Sub(list[0].at)}
}

// miss returns how far a run is from the place. A start without a place misses nothing. Close to the place and on the same side of the
// relist, the run is there: what a relist leads to keeps its distance from the next ones.
func (p *place) miss(l landmarks) time.Duration {
	if p == nil {
		return 0
	}
	nearest := time.Duration(math.MaxInt64)
	for _, r := range l.relists {
		if r.method != p.to.method || r.pod != p.to.pod || r.end != p.to.end {
			continue
		}
		own := p.of(l).Sub(r.at)
		if same := (own < 0) == (p.off < 0); same && (own-p.off).Abs() <= tolerance/4 || same && p.off.Abs() == fine && own.Abs() <= fine {
			return 0
		}
		if off := own - p.off; off.Abs() < nearest.Abs() {
			nearest = off
		}
	}
	return nearest
}

// exactly returns a case close to another one in which a landmark meets a tick, while the start keeps its place in the phase of the
// relists and in the second of the wall clock. It returns nil if the case is such a case already, or if it finds none. What happens to
// the pod moves the relists, and a relist can move the start, so exactly takes some steps: it restores the place, and then meets the tick.
func (s *Subject) exactly(c Case, d dim, m meeting, keep *place, second time.Duration) (*Case, error) {
	moved, period := false, s.period(m.probe)
	var before, jump time.Duration // how far the step before was from the place, and how far from the place the relists jump over it
	for range maxSteps {
		l, err := s.landmarks(c)
		if err != nil {
			return nil, err
		}
		if late := c.wall(l.start) - second; late != 0 && s.delayed(&c) {
			c.Wall, moved = modulo(c.Wall-late, time.Second), true
			continue
		}
		tick := modulo(m.mark(l).Sub(l.ticks[m.probe])+period/2, period) - period/2
		relist := keep.miss(l) - jump
		if relist != 0 && (relist+before).Abs() < fine && keep.off < 0 == (relist < 0) { // stay on this side
			jump, relist = jump+relist, 0
		}
		before = relist
		x := d.get(&c)
		switch {
		case relist.Abs() > c.relistPeriod():
			return nil, nil
		case relist.Abs() >= fine/8 && d.relisted:
			x -= relist
		case relist.Abs() >= fine/8:
			c.Uptime -= relist
		case tick.Abs() < fine/8:
			if !moved {
				return nil, nil
			}
			return &c, nil
		case d.relisted: // by whole periods of the relists, and the rest
			whole := tick.Round(c.relistPeriod())
			x -= whole
			c.Uptime += tick - whole
		default:
			x -= tick
			c.Uptime += tick
		}
		if x = d.from + modulo(x-d.from, s.ticksRepeat(&c)); x > d.to { // the ticks repeat
			return nil, nil
		}
		for c.Uptime < s.old() {
			c.Uptime += c.relistPeriod()
		}
		c, moved = c.in(d, x), true
	}
	return nil, nil
}

// maxSteps limits the steps of exactly.
const maxSteps = 8
