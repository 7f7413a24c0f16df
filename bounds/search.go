package bounds

import "time"

// sample is the bound at a point of a range, with the signature of a run there.
type sample struct {
	x         time.Duration
	bound     Bound
	signature uint64
}

// search returns the bound of a function over a range. The function is linear but for some jumps. search cuts the range into
// parts of the width of grid, and splits a part until the signature is the same at both ends and the middle is on the line
// between them, or until its ends are a nanosecond apart: there the function jumps.
//
// A jump and its reverse within one part can stay hidden. Choose the grid smaller than what happens between two jumps, such as
// the period of a probe.
func search(from, to, grid time.Duration, f func(x time.Duration) (sample, error)) (Bound, error) {
	s := searcher{f: f}
	left := s.at(from)
	s.bound = left.bound
	for left.x < to && s.err == nil {
		right := s.at(min(left.x+grid, to))
		s.split(left, right)
		left = right
	}
	return s.bound, s.err
}

type searcher struct {
	f     func(x time.Duration) (sample, error)
	bound Bound
	err   error
}

func (s *searcher) at(x time.Duration) sample {
	found, err := s.f(x)
	if err != nil && s.err == nil {
		s.err = err
	}
	found.x = x
	s.bound = s.bound.or(found.bound)
	return found
}

func (s *searcher) split(left, right sample) {
	if s.err != nil || right.x-left.x <= 1 {
		return
	}
	middle := s.at(left.x + (right.x-left.x)/2)
	if onLine(left, middle, right) {
		return
	}
	s.split(left, middle)
	s.split(middle, right)
}

// onLine reports whether b is between a and c: the signature is the same, and the ends of the bound are on a line, apart from
// rounding.
func onLine(a, b, c sample) bool {
	if a.signature != b.signature || b.signature != c.signature {
		return false
	}
	share := float64(b.x-a.x) / float64(c.x-a.x)
	between := func(a, b, c time.Duration) bool {
		off := float64(b-a) - share*float64(c-a)
		return off > -2 && off < 2
	}
	return between(a.bound.Least, b.bound.Least, c.bound.Least) && between(a.bound.Greatest, b.bound.Greatest, c.bound.Greatest)
}
