package choose

import (
	"math"
	"slices"
)

// Made is a choice that was made other than canonically.
type Made struct {
	Choice
	Value    int     // of Choose, from 1
	Fraction float64 // of a jitter
	Before   Choice  // of Next: who would have gone first; zero: whoever
	Last     bool    // of Next: goes only when nothing else of the instant can, instead of first
}

// Seeded draws each choice from the seed and what the choice is about, never from a stream, so that a
// run that differs in one place draws the same elsewhere.
type Seeded uint64

// Choose interrupts at one preemption point in four and takes the alternatives of anything else evenly.
func (s Seeded) Choose(c Choice, n int) int {
	h := s.hash(c)
	if c.Kind == Preemption && h&3 != 0 {
		return 0
	}
	return int(h >> 8 % uint64(n))
}

// Next gives each turn of each candidate a priority.
func (s Seeded) Next(candidates []Choice) int {
	first, least := 0, s.hash(candidates[0])
	for i, c := range candidates[1:] {
		if h := s.hash(c); h < least {
			first, least = i+1, h
		}
	}
	return first
}

// Fraction is even from 0 to below 1.
func (s Seeded) Fraction(c Choice) float64 { return float64(s.hash(c)>>11) / (1 << 53) }

// hash is FNV-1a over what identifies the choice, finished by the mix of SplitMix64.
func (s Seeded) hash(c Choice) uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, part := range []string{string(c.Kind), c.Key} {
		for i := range len(part) {
			add(part[i])
		}
		add(0)
	}
	h ^= uint64(c.Ordinal)*0x9e3779b97f4a7c15 + uint64(s)*0xd1342543de82ef95
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Replay makes the choices of a list again and is canonical elsewhere.
type Replay struct {
	made map[Choice]Made
	// overtakes has the places in the list of who goes first, by who would have: of two the earlier does.
	overtakes map[Choice]map[Choice]int
	last      map[Choice]bool
}

// NewReplay returns the policy that makes these choices.
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

// Recorder notes what another policy chooses other than canonically, in order.
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
