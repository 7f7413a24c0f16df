package bounds

import (
	"time"
)

// sample is the bound of one case, with the signature of a run.
type sample struct {
	x         time.Duration
	bound     Bound
	outcome   time.Duration // the virtual time of the outcome, if the sample is of a single run
	started   time.Duration // the virtual time of the success of the startup probe that leads to the outcome; 0 if there is none
	signature uint64
}

// measure returns the sample of a case.
type measure func(Case) (sample, error)

// tolerance is the greatest improvement of a bound that a search may miss.
const tolerance = time.Millisecond

// timeTolerance is the same for a time, which depends on more than a limit does.
const timeTolerance = 25 * time.Millisecond

// slope is the greatest change of a value, for each nanosecond of a dimension, where the value does not jump.
const slope = 2

// extremes returns the bound over all cases of some dimensions, searched from a case. It begins at the corners where all dimensions have
// their least or their greatest value. Then it searches one dimension after the other, from the case with the least and from the case
// with the greatest value so far, until another round finds no better one. If the bound is a limit, it determines both values more exactly
// at the end. If the search has a goal, it ends there, and the bound has the ends of the goal.
func extremes(c Case, dims []dim, g *goal, f measure) (Bound, error) {
	f = remember(f)
	first, err := f(c)
	if err != nil || first.bound.Least == Never {
		return first.bound, err
	}
	bound := first.bound.toward(g)
	if len(dims) == 0 || bound.found(false) && bound.found(true) {
		return bound.atGoal(), nil
	}
	try := func(c Case) {
		if err != nil {
			return
		}
		var one sample
		if one, err = f(c); err == nil {
			bound = bound.Or(one.bound)
		}
	}
	for _, greatest := range []bool{false, true} {
		try(c.corner(greatest, dims))
	}
	for i, end := range []func(Bound) (Case, time.Duration){Bound.least, Bound.greatest} {
		for range maxRounds {
			if bound.found(i == 1) {
				break
			}
			_, before := end(bound)
			for _, d := range dims {
				c, _ := end(bound)
				if d.jumps && err == nil {
					bound, err = parts(c, d, []time.Duration{d.from, d.from + (d.to-d.from)/2, d.to}, f, bound, timeTolerance)
					continue
				}
				for _, x := range []time.Duration{d.from, d.to} {
					try(c.in(d, x))
				}
			}
			if _, now := end(bound); err != nil || now == before {
				break
			}
		}
		for _, d := range dims {
			if c, _ := end(bound); err == nil && c.question.limit {
				d = d.near(&c)
				bound, err = parts(c, d, []time.Duration{d.from, d.to}, f, bound, fine)
			}
		}
	}
	return bound.atGoal(), err
}

// fine is the tolerance of the values that extremes returns, in each dimension.
const fine = time.Microsecond

// near returns a small part of the dimension around a case.
func (d dim) near(c *Case) dim {
	x := d.get(c)
	d.from, d.to = max(d.from, x-2*tolerance), min(d.to, x+2*tolerance)
	return d
}

// maxRounds limits the rounds of extremes.
const maxRounds = 5

func (b Bound) least() (Case, time.Duration)    { return b.AtLeast, b.Least }
func (b Bound) greatest() (Case, time.Duration) { return b.AtGreatest, b.Greatest }

// parts extends a bound by the values of a function along a dimension, between some points of it, in order. The function is linear but for
// some jumps. parts splits the part between two points until the signature is the same at both ends and the middle is on the line between
// them, or until the bound cannot grow by more than the tolerance in it.
//
// A jump and its reverse between two points can stay hidden.
func parts(c Case, d dim, points []time.Duration, f measure, b Bound, tolerance time.Duration) (Bound, error) {
	s := searcher{c: c, d: d, f: f, bound: b, tolerance: tolerance}
	samples := make([]sample, len(points))
	for i, x := range points {
		samples[i] = s.at(x)
	}
	for i := range samples[1:] {
		s.split(samples[i], samples[i+1])
	}
	return s.bound, s.err
}

type searcher struct {
	c         Case
	d         dim
	f         measure
	bound     Bound
	tolerance time.Duration
	err       error
}

func (s *searcher) at(x time.Duration) sample {
	if s.err != nil {
		return sample{x: x}
	}
	var found sample
	found, s.err = s.f(s.c.in(s.d, x))
	found.x = x
	if s.err == nil {
		s.bound = s.bound.Or(found.bound)
	}
	return found
}

func (s *searcher) split(left, right sample) {
	if s.err != nil || right.x-left.x <= 2 || straight(left, right) || !s.promises(left, right) {
		return
	}
	middle := s.at(left.x + (right.x-left.x)/2)
	if onLine(left, middle, right) {
		return
	}
	s.split(left, middle)
	s.split(middle, right)
}

// promises reports whether the bound can grow between two samples, if the function jumps there once.
func (s *searcher) promises(a, b sample) bool {
	rise := slope*(b.x-a.x) - s.tolerance
	greater := s.bound.Greatest != Never && !s.bound.found(true) && max(a.bound.Greatest, b.bound.Greatest) > s.bound.Greatest-rise
	return greater || !s.bound.found(false) && min(a.bound.Least, b.bound.Least) < s.bound.Least+rise
}

// straight reports whether nothing seems to change between two samples: the signature is the same, and the bound is the same, or it grows
// or falls as fast as the dimension.
func straight(a, b sample) bool {
	if a.signature != b.signature || a.signature == 0 {
		return false
	}
	width := b.x - a.x
	is := func(change time.Duration) bool { return change == 0 || change.Abs() == width }
	return is(b.bound.Least-a.bound.Least) && is(b.bound.Greatest-a.bound.Greatest)
}

// onLine reports whether b is between a and c: the signature is the same, and the ends of the bound are on a line, apart from
// rounding.
func onLine(a, b, c sample) bool {
	if a.signature != b.signature || b.signature != c.signature || a.bound.Greatest == Never || c.bound.Greatest == Never {
		return false
	}
	share := float64(b.x-a.x) / float64(c.x-a.x)
	between := func(a, b, c time.Duration) bool {
		off := float64(b-a) - share*float64(c-a)
		return off > -2 && off < 2
	}
	return between(a.bound.Least, b.bound.Least, c.bound.Least) && between(a.bound.Greatest, b.bound.Greatest, c.bound.Greatest)
}
