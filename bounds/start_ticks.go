package bounds

import (
	"slices"
	"time"

	"probesim.dev/trace"
)

// overTicks extends a bound by the limits of a case over a dimension that moves the start against the ticks of the probes.
func (s *Subject) overTicks(c Case, d dim, f measure, b Bound) (Bound, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return b, err
	}
	plain := d
	if !d.ticks {
		d = d.aligned(c.Uptime)
		if s.delayed(&c) {
			d = d.onSecond()
		}
	}
	list := s.meetings(c, l, d)
	if b, err = parts(c, d, d.around(list), f, b, tolerance); err != nil || d.ticks {
		return b, err
	}
	keep := l.nearest()
	for _, m := range list {
		if !m.counts || !s.reaches(c, d, m.x, f, b) {
			continue
		}
		met, err := s.exactly(c.in(d, m.x), plain, m, keep, c.wall(l.start))
		if err != nil {
			return b, err
		}
		if met == nil {
			continue
		}
		if b, err = s.nearby(*met, plain, f, b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// reaches reports whether a case close to a point of a dimension can extend a bound, if its start has another place among the relists. Such a
// place changes the limit by up to two of their periods.
func (s *Subject) reaches(c Case, d dim, x time.Duration, f measure, b Bound) bool {
	for _, x := range []time.Duration{max(x-1, d.from), min(x+1, d.to)} { // measured already
		one, err := f(c.in(d, x))
		if by := 2 * c.relistPeriod(); err != nil || one.bound.Greatest > b.Greatest-by || one.bound.Least < b.Least+by {
			return true
		}
	}
	return false
}

// meeting is a landmark that meets a tick of a probe at a point of a dimension.
type meeting struct {
	mark   mark
	counts bool // the probe counts from the landmark
	probe  trace.Probe
	x      time.Duration
}

// maxMeetings limits the meetings of a landmark and a probe, for a probe with a short period beside one with a long period.
const maxMeetings = 64

// meetings returns the points of a dimension at which a landmark meets a tick. The dimension moves the start against the ticks.
func (s *Subject) meetings(c Case, l landmarks, d dim) []meeting {
	var list []meeting
	for _, p := range s.deciding(&c) {
		period := s.period(p)
		marks := s.marks(l, p)
		for i, m := range marks {
			counts := i >= len(marks)-len(l.delays)-1
			by := l.ticks[p].Sub(m(l))
			if d.ticks {
				by = -by
			}
			for x := d.from + modulo(d.get(&c)+by-d.from, period); x <= min(d.to, d.from+maxMeetings*period); x += period {
				list = append(list, meeting{m, counts, p, x})
			}
		}
	}
	return list
}

func (s *Subject) period(p trace.Probe) time.Duration {
	return time.Duration(s.Probe(p).PeriodSeconds) * time.Second
}

// around returns the points of a dimension next to some meetings, with its ends.
func (d dim) around(list []meeting) []time.Duration {
	points := []time.Duration{d.from, d.to}
	for _, m := range list {
		points = append(points, max(m.x-1, d.from), min(m.x+1, d.to))
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// nearby extends a bound by the limits of the cases next to one, in a dimension and in the age of the kubelet.
func (s *Subject) nearby(c Case, d dim, f measure, b Bound) (Bound, error) {
	for _, by := range [][2]time.Duration{{0, 0}, {-fine, 0}, {fine, 0}, {0, -fine}, {0, fine}} {
		x := c.in(d, min(max(d.get(&c)+by[0], d.from), d.to))
		x.Uptime += by[1]
		if s.delayed(&c) {
			x.Wall = modulo(x.Wall-by[0]-by[1], time.Second)
		}
		one, err := f(x)
		if err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// overPairs extends a bound by the limits of the pairs of a case.
func (s *Subject) overPairs(c Case, d dim, f measure, b Bound) (Bound, error) {
	pairs, err := s.pairs(c, d)
	if err != nil {
		return b, err
	}
	for _, c := range pairs {
		if err := s.atSecond(&c, false); err != nil {
			return b, err
		}
		if b, err = s.nearby(c, d, f, b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// pairs returns the cases with another time from the exit to the start in which a tick meets the exit, or the end of a probe run meets
// the exit, at the same phase at which another tick meets the time from which the probes count.
func (s *Subject) pairs(c Case, d dim) ([]Case, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return nil, err
	}
	var list []Case
	relists := c.relistPeriod()
	for _, p := range s.deciding(&c) {
		period := s.period(p)
		for _, counts := range append(l.delays, l.syncs[len(l.syncs)-1]) {
			for i, took := range []time.Duration{0, l.took[p]} {
				if i > 0 && took == 0 {
					continue
				}
				// An older kubelet finds the exit earlier.
				for by := modulo(counts.Sub(l.exit)+took, period) - period; by < relists; by += period {
					if by <= -relists {
						continue
					}
					next := c
					next.Uptime = s.old() + modulo(c.Uptime+by-s.old(), relists)
					shift := modulo(l.ticks[p].Sub(counts)+by, period)
					next = next.in(d.aligned(next.Uptime), d.from+modulo(d.get(&c)+shift-d.from, period))
					list = append(list, next)
				}
			}
		}
	}
	return list, nil
}

// ticksRepeat returns the time after which the ticks of the probes that can stop the instance are in the same phase again. It is at most
// 100 seconds or the longest period.
func (s *Subject) ticksRepeat(c *Case) time.Duration {
	common, longest := time.Second, maxWindow*time.Second
	for _, p := range s.deciding(c) {
		a, b := common, s.period(p)
		for b > 0 {
			a, b = b, a%b
		}
		common *= s.period(p) / a
		longest = max(longest, s.period(p))
	}
	return min(common, longest)
}

// atSecond moves the wall clock so that the instance starts when a second begins, or just before. The kubelet truncates the start to the
// second, so the probes wait the longest or the shortest time for initialDelaySeconds.
func (s *Subject) atSecond(c *Case, begins bool) error {
	if !s.delayed(c) {
		return nil
	}
	h, err := s.run(c, s.started(c.Instance))
	if err != nil {
		return err
	}
	c.Wall -= c.wall(h.outcome().T)
	if !begins {
		c.Wall--
	}
	c.Wall = modulo(c.Wall, time.Second)
	return nil
}
