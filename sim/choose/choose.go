package choose

import (
	"math"
	"slices"
)

// Guide is a Chooser that knows in which order a real run did what the simulation leaves open. It
// changes which alternative is canonical, before the Chooser picks one.
type Guide interface {
	Chooser
	// Place returns the place of a point in the order in which a process reaches its points from
	// now on: the smallest place comes first. It returns false if the order is not known. A walk
	// without a defined order counts as a process, and its items as points.
	Place(process, point string) (int, bool)
	// Walk returns the items of the walk that follows the next turn of a process, before the turn
	// after it. It returns false if that turn is not now, or comes after the next turn of the
	// process by.
	Walk(name, process, by string) (items []string, ok bool)
	// Turn notes that a process reaches a point now.
	Turn(process, point string)
}

// Made is a choice together with its result, if the result is not the canonical one.
type Made struct {
	Choice
	Value    int     // the result of Choose, from 1
	Fraction float64 // the result of a jitter
	Before   Choice  // for Next: the canonical candidate that this one overtakes; the zero value means any
	Last     bool    // for Next: the candidate goes only when no other one can, instead of first
}

// Seeded is a policy that draws each choice from the seed and the identity of the choice. It uses
// no stream of random numbers: a run that differs in one choice draws the same results for all
// others.
type Seeded uint64

// Choose interrupts at one preemption point in four. For other kinds all alternatives are equally
// likely.
func (s Seeded) Choose(c Choice, n int) int {
	h := s.hash(c)
	if c.Kind == Preemption && h&3 != 0 {
		return 0
	}
	return int(h >> 8 % uint64(n))
}

// Next gives each turn of each candidate a random priority.
func (s Seeded) Next(candidates []Choice) int {
	first, least := 0, s.hash(candidates[0])
	for i, c := range candidates[1:] {
		if h := s.hash(c); h < least {
			first, least = i+1, h
		}
	}
	return first
}

// Fraction draws from a uniform distribution.
func (s Seeded) Fraction(c Choice) float64 { return float64(s.hash(c)>>11) / (1 << 53) }

// Priority returns the priority with which Next goes through the candidates. The least one goes
// first.
func (s Seeded) Priority(d Digest, ordinal int64) uint64 {
	h := uint64(d) ^ (uint64(ordinal)*0x9e3779b97f4a7c15 + uint64(s)*0xd1342543de82ef95)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// hash is the digest of the choice, followed by the mixing steps of SplitMix64.
func (s Seeded) hash(c Choice) uint64 { return s.Priority(DigestOf(c.Kind, c.Key), c.Ordinal) }

// Digest is what a Seeded policy needs of the kind and key of a choice.
type Digest uint64

// DigestOf is FNV-1a over the kind and key of a choice.
func DigestOf(kind Kind, key string) Digest {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, part := range []string{string(kind), key} {
		for i := range len(part) {
			add(part[i])
		}
		add(0)
	}
	return Digest(h)
}

// Replay is a policy that repeats the choices of a list and makes canonical choices elsewhere.
type Replay struct {
	made map[Choice]Made
	// overtakes maps the canonical candidate to the candidates that overtake it, with their places
	// in the list. The earliest place wins.
	overtakes map[Choice]map[Choice]int
	last      map[Choice]bool
}

// NewReplay returns a policy that repeats the choices of a list.
func NewReplay(list []Made) *Replay {
	r := &Replay{made: map[Choice]Made{}, overtakes: map[Choice]map[Choice]int{}, last: map[Choice]bool{}}
	for i, m := range list {
		if m.Last {
			r.last[m.Choice] = true
			continue
		}
		if m.Kind != Next {
			r.made[m.Choice] = m
			continue
		}
		if r.overtakes[m.Before] == nil {
			r.overtakes[m.Before] = map[Choice]int{}
		}
		r.overtakes[m.Before][m.Choice] = i
	}
	return r
}

func (r *Replay) Choose(c Choice, n int) int { return min(r.made[c].Value, n-1) }

func (r *Replay) Next(candidates []Choice) int {
	first, place := -1, math.MaxInt
	for _, places := range []map[Choice]int{r.overtakes[candidates[0]], r.overtakes[Choice{}]} {
		if len(places) == 0 {
			continue
		}
		for i, c := range candidates {
			if k, ok := places[c]; ok && k < place {
				first, place = i, k
			}
		}
	}
	if first < 0 {
		first = slices.IndexFunc(candidates, func(c Choice) bool { return !r.last[c] })
	}
	return max(first, 0)
}

func (r *Replay) Fraction(c Choice) float64 {
	if m, ok := r.made[c]; ok {
		return m.Fraction
	}
	return 0.5
}

// Recorder is a policy that passes each choice to the policy Of and appends the results that are
// not canonical to Made.
type Recorder struct {
	Of   Chooser
	Made []Made
}

func (r *Recorder) Choose(c Choice, n int) int {
	v := r.Of.Choose(c, n)
	if v != 0 {
		r.Made = append(r.Made, Made{Choice: c, Value: v})
	}
	return v
}

func (r *Recorder) Next(candidates []Choice) int {
	i := r.Of.Next(candidates)
	if i != 0 {
		r.Made = append(r.Made, Made{Choice: candidates[i], Before: candidates[0]})
	}
	return i
}

func (r *Recorder) Fraction(c Choice) float64 {
	f := r.Of.Fraction(c)
	if f != 0.5 {
		r.Made = append(r.Made, Made{Choice: c, Fraction: f})
	}
	return f
}
