package bounds

import (
	"math"
	"time"
)

// sample is the bound of one case, with the signature of a run.
type sample struct {
	x         time.Duration
	bound     Bound
	outcome   time.Duration // the virtual time of the outcome, if the sample is of a single run
	signature uint64
}

// measure returns the sample of a case.
type measure func(Case) (sample, error)

// tolerance is the greatest improvement of a bound that a search may miss.
const tolerance = time.Millisecond

// timeTolerance is the same for a time, which depends on more than a limit does.
const timeTolerance = 4 * time.Millisecond

// slope is the greatest change of a value, for each nanosecond of a dimension, where the value does not jump.
const slope = 2

// extremes returns the bound over all cases of some dimensions, searched from a case. It searches one dimension after the other,
// from the case with the least and from the case with the greatest value so far, until another round finds no better one. If the bound
// is a limit, it determines both values more exactly at the end.
func extremes(c Case, dims []dim, f measure) (Bound, error) {
	f = remember(f)
	first, err := f(c)
	if err != nil || first.bound.Least == Never || len(dims) == 0 {
		return first.bound, err
	}
	bound, tolerance := first.bound, tolerance
	if !c.question.limit {
		tolerance = timeTolerance
	}
	if bound, err = scatter(c, dims, f, bound); err != nil {
		return bound, err
	}
	along := func(c Case, d dim, tolerance time.Duration) {
		if err == nil && d.from < d.to {
			bound, err = search(c, d, f, bound, tolerance)
		}
	}
	for _, end := range []func(Bound) (Case, time.Duration){Bound.least, Bound.greatest} {
		for range maxRounds {
			_, before := end(bound)
			for _, d := range dims {
				c, _ := end(bound)
				along(c, d, tolerance)
			}
			if _, now := end(bound); (now - before).Abs() <= tolerance {
				break
			}
		}
		for _, d := range dims {
			if c, _ := end(bound); c.question.limit {
				along(c, d.near(&c), fine)
			}
		}
	}
	return bound, err
}

// scattered is the number of cases of scatter for two or more dimensions.
const scattered = 12

// scatter extends a bound by cases that are spread over all dimensions, so that a search does not begin far from the best case: there
// can be regions with quite different values, such as those in which the liveness probe acts before the readiness probe.
func scatter(c Case, dims []dim, f measure, b Bound) (Bound, error) {
	if len(dims) < 2 {
		return b, nil
	}
	for i := range scattered {
		x := c
		for k, d := range dims {
			share := float64(i+1) * math.Sqrt(primes[k%len(primes)])
			x = x.in(d, d.from+time.Duration((share-math.Floor(share))*float64(d.to-d.from)))
		}
		one, err := f(x)
		if err != nil {
			return b, err
		}
		if one.bound.Least != Never {
			b = b.Or(one.bound)
		}
	}
	return b, nil
}

// primes have roots whose multiples spread evenly, independently of each other.
var primes = []float64{2, 3, 5, 7, 11, 13, 17, 19}

// fine is the tolerance of the values that extremes returns, in each dimension.
const fine = time.Microsecond

// near returns a small part of the dimension around a case.
func (d dim) near(c *Case) dim {
	x := d.get(c)
	d.from, d.to = max(d.from, x-2*tolerance), min(d.to, x+2*tolerance)
	d.grid = d.to - d.from
	return d
}

// maxRounds limits the rounds of extremes.
const maxRounds = 5

func (b Bound) least() (Case, time.Duration)    { return b.AtLeast, b.Least }
func (b Bound) greatest() (Case, time.Duration) { return b.AtGreatest, b.Greatest }

// search extends a bound by the values of a function along a dimension. The function is linear but for some jumps. search cuts
// the dimension into parts of the width of its grid, and splits a part until the signature is the same at both ends and the
// middle is on the line between them, or until the bound cannot grow by more than the tolerance in it.
//
// A jump and its reverse within one part can stay hidden. The grid must be smaller than what happens between two jumps, such as
// the period of a probe.
func search(c Case, d dim, f measure, b Bound, tolerance time.Duration) (Bound, error) {
	return parts(c, d, d.points(), f, b, tolerance)
}

// points returns the ends of the dimension, and the points of its grid.
func (d dim) points() []time.Duration {
	var list []time.Duration
	for x := d.from; x < d.to; x += max(d.grid, 1) {
		list = append(list, x)
	}
	return append(list, d.to)
}

// parts is search for parts between some points of the dimension, in order.
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
	if s.err != nil || right.x-left.x <= 1 || !s.promises(left, right) {
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
	return max(a.bound.Greatest, b.bound.Greatest) > s.bound.Greatest-rise || min(a.bound.Least, b.bound.Least) < s.bound.Least+rise
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
