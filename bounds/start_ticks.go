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
	if b, err = parts(c, d, d.around(list), f, b, tolerance); err != nil || d.ticks || d.exit {
		return b, err
	}
	keep := l.nearest()
	for _, m := range list {
		if !m.counts {
			continue
		}
		ok, err := s.reaches(c, d, m, f, b)
		if err != nil {
			return b, err
		}
		if !ok {
			continue
		}
		met, err := s.exactly(c.in(d, m.x), plain, m, keep, c.wall(l.start))
		if met == nil && err == nil && keep != nil { // a case in another place is better than none
			met, err = s.exactly(c.in(d, m.x), plain, m, nil, c.wall(l.start))
		}
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

// reaches reports whether a case close to a meeting can extend a bound, if its start has another place among the relists. Such a place
// changes the limit by up to two of their periods. If the limit does not jump at the meeting, it jumps close to it, since what happens to
// the pod moves the relists.
func (s *Subject) reaches(c Case, d dim, m meeting, f measure, b Bound) (bool, error) {
	before, err := f(c.in(d, max(m.x-1, d.from))) // measured already
	if err != nil {
		return false, err
	}
	after, err := f(c.in(d, min(m.x+1, d.to)))
	if err != nil {
		return false, err
	}
	both, by := before.bound.Or(after.bound), 2*c.relistPeriod()
	if both.Greatest-both.Least < fine {
		by += s.period(m.probe)
	}
	return both.Greatest > b.Greatest-by || both.Least < b.Least+by, nil
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
		if s.delayed(&c) && !d.relisted { // the start keeps its place in the second of the wall clock
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

// ticksRepeat returns the time after which the ticks of the probes that can stop the instance are in the same phase again. It is at most
// 100 seconds or the longest period.
func (s *Subject) ticksRepeat(c *Case) time.Duration {
	common, longest := time.Second, maxWindow*time.Second
	for _, p := range s.deciding(c) {
		common *= s.period(p) / divisor(common, s.period(p))
		longest = max(longest, s.period(p))
	}
	return min(common, longest)
}

// atSecond moves the wall clock so that the instance starts when a second begins, or just before. The kubelet truncates the start to the
// second, so the probes wait the longest or the shortest time for initialDelaySeconds. The wall clock can move the start of a later instance,
// since it decides when the probes of the one before begin, so atSecond takes some steps.
func (s *Subject) atSecond(c *Case, begins bool) error {
	if !s.delayed(c) {
		return nil
	}
	for range 3 {
		h, err := s.run(c, s.started(c.Instance))
		if err != nil {
			return err
		}
		by := c.wall(h.outcome().T)
		if !begins {
			by++
		}
		if by %= time.Second; by == 0 {
			break
		}
		c.Wall = modulo(c.Wall-by, time.Second)
	}
	return nil
}

// divisor returns the greatest common divisor of two periods.
func divisor[T int32 | time.Duration](a, b T) T {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
