package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
)

// window is one opening of a rule.
type window struct {
	ordinal     int64 // 0 for the first
	open, close virtual.Time
}

// Draws of a rule, apart from those of its requests.
const (
	drawFrom int64 = iota
	drawFor
	drawEvery
	drawChance
)

// finestDraw is the least period that is drawn anew at each opening: walking finer openings one by one
// would take for ever. A rule with a finer one always has the middle.
const finestDraw = 10 * time.Millisecond

// longestWalk is how many openings are walked for one request. A longer way is jumped.
const longestWalk = 1 << 20

// schedule says when one rule is open for one instance.
type schedule struct {
	rule  *Rule
	key   key           // of the draws of the rule
	first virtual.Time  // the first opening; never while what it counts from has not happened
	every time.Duration // from opening to opening; 0: once, or drawn
	drawn bool          // every period is drawn anew
	last  window        // drawn: the opening that was current when last asked; its close is not set
}

// newSchedule makes the schedule of a rule. The key is that of the instance, or for a rule AtScenario
// that of the run, for which everything is drawn just once.
func newSchedule(rule *Rule, k key) schedule {
	s := schedule{rule: rule, key: k, first: never}
	switch every := rule.Every; {
	case every == nil || every.Max <= 0:
	case rule.Clock == AtScenario || every.Max <= every.Min || !k.seeded:
		s.every = k.with(drawEvery).with(0).draw(*every)
	case every.Min < finestDraw:
		s.every = key{}.draw(*every)
	default:
		s.drawn = true
	}
	return s
}

// count sets the moment from which the rule counts.
func (s *schedule) count(from virtual.Time) {
	s.first = later(from, max(0, s.key.with(drawFrom).draw(s.rule.From)))
	s.last.open = s.first
}

// at returns the window that is open at t, if one is. With drawn periods t must not go back.
func (s *schedule) at(t virtual.Time) (window, bool) {
	if t < s.first || s.first == never {
		return window{}, false
	}
	w := s.opening(t)
	w.close = never
	if s.rule.For != nil {
		w.close = later(w.open, s.key.with(drawFor).with(s.drawOrdinal(w)).draw(*s.rule.For))
	}
	return w, t < w.close
}

// opening returns the last opening up to t, which is not before the first.
func (s *schedule) opening(t virtual.Time) window {
	switch {
	case s.drawn:
		return s.walk(t)
	case s.every > 0:
		n := int64((t.Sub(s.first)) / s.every)
		return window{ordinal: n, open: s.first.Add(time.Duration(n) * s.every)}
	}
	return window{open: s.first}
}

// walk goes from opening to opening; over a run each is passed once.
func (s *schedule) walk(t virtual.Time) window {
	if middle := (key{}).draw(*s.rule.Every); (t.Sub(s.last.open))/middle > longestWalk {
		n := int64((t.Sub(s.last.open)) / middle)
		s.last = window{ordinal: s.last.ordinal + n, open: s.last.open.Add(time.Duration(n) * middle)}
	}
	for {
		next := later(s.last.open, s.key.with(drawEvery).with(s.last.ordinal).draw(*s.rule.Every))
		if next > t {
			return s.last
		}
		s.last = window{ordinal: s.last.ordinal + 1, open: next}
	}
}

// drawOrdinal is what tells the draws of one opening from those of the next.
func (s *schedule) drawOrdinal(w window) int64 {
	if s.rule.Clock == AtScenario {
		return 0
	}
	return w.ordinal
}
