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

// miss returns how far a run is from the place. A start without a place misses nothing.
func (p *place) miss(l landmarks) time.Duration {
	if p == nil {
		return 0
	}
	nearest := time.Duration(math.MaxInt64)
	for _, r := range l.relists {
		if off := p.of(l).Sub(r.at) - p.off; r.method == p.to.method && r.end == p.to.end && off.Abs() < nearest.Abs() {
			nearest = off
		}
	}
	return nearest
}

// exactly returns a case close to another one in which a landmark meets a tick, while the start keeps its place in the phase of the
// relists and in the second of the wall clock. It returns nil if the case is such a case already, or if it finds none. What happens to
// the pod moves the relists, and a relist can move the start, so exactly takes some steps.
func (s *Subject) exactly(c Case, d dim, m meeting, keep *place, second time.Duration) (*Case, error) {
	miss := func(c *Case) (tick, relist time.Duration, err error) {
		l, err := s.landmarks(*c)
		if off := c.wall(l.start) - second; err == nil && off != 0 && s.delayed(c) {
			c.Wall = modulo(c.Wall-off, time.Second)
			l, err = s.landmarks(*c)
		}
		if err != nil {
			return 0, 0, err
		}
		period := s.period(m.probe)
		return modulo(m.mark(l).Sub(l.ticks[m.probe])+period/2, period) - period/2, keep.miss(l), nil
	}
	wall := c.Wall
	tick, relist, err := miss(&c)
	if err != nil {
		return nil, err
	}
	if tick.Abs()+relist.Abs() < fine/4 {
		if c.Wall == wall {
			return nil, nil
		}
		return &c, nil
	}
	if relist.Abs() >= fine/4 { // the place first: what is late by a relist misses its tick by much
		next := c
		next.Uptime = max(next.Uptime-relist, s.old())
		t, r, err := miss(&next)
		if err != nil {
			return nil, err
		}
		if r.Abs() < relist.Abs() {
			c, tick, relist = next, t, r
		}
	}
	if tick.Abs()+relist.Abs() < fine/4 {
		return &c, nil
	}
	for range 4 {
		closer, err := s.closer(c, d, &tick, &relist, miss)
		if closer == nil || err != nil {
			return nil, err
		}
		if c = *closer; tick.Abs()+relist.Abs() < fine/4 {
			return &c, nil
		}
	}
	return nil, nil
}

// closer returns a case that misses its tick and its place by less, or nil. Either the dimension moves the start against relists and ticks,
// or the relists move the start against the ticks.
func (s *Subject) closer(c Case, d dim, tick, relist *time.Duration, miss func(*Case) (tick, relist time.Duration, err error)) (*Case, error) {
	for _, by := range []time.Duration{*tick, *relist} {
		next := c.in(d, d.get(&c)-by)
		next.Uptime += *tick - *relist
		if x := d.get(&next); x < d.from || x > d.to || next.Uptime < s.old() {
			continue
		}
		t, r, err := miss(&next)
		if err != nil {
			return nil, err
		}
		if t.Abs()+r.Abs() < tick.Abs()+relist.Abs() {
			*tick, *relist = t, r
			return &next, nil
		}
	}
	return nil, nil
}
