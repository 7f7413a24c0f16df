package expect

import (
	"sort"
	"strings"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace/match"
)

// turn is the change of a field to a value.
type turn struct {
	t      virtual.Time
	value  value.Scalar
	record int
}

// turns returns the values of a field in order, without repetitions. It ignores times without a
// status.
func (c *checker) turns(key, container, field string) []turn {
	var all []turn
	for _, st := range c.index.pod(key).states {
		v, ok := st.lookup(container, field)
		if !ok || len(all) > 0 && all[len(all)-1].value == v {
			continue
		}
		all = append(all, turn{st.t, v, st.record})
	}
	return all
}

// transitions checks the values of a field in each window. The first is the value at the beginning
// of the window.
func (c *checker) transitions(e *format.Expect, key string, windows []window, f *failures) {
	all := c.turns(key, e.Container, e.Transitions.Field)
	for _, w := range windows {
		from, to := w.instants()
		seen := turnsWithin(all, from, to)
		bad, ok := mismatch(e.Transitions, seen)
		if ok {
			continue
		}
		fail := failure{kind: Missing, key: key, window: w, center: to, undecided: w.open && bad == len(seen),
			got: func() string { return turnWords(seen, bad) }}
		if bad < len(seen) {
			fail.kind = WrongState
			fail.center, fail.marks = max(seen[bad].t, from), marks(seen[bad].record)
		}
		f.add(fail)
	}
}

func turnsWithin(all []turn, from, to virtual.Time) []turn {
	later := func(t virtual.Time) int { return sort.Search(len(all), func(i int) bool { return all[i].t > t }) }
	return all[max(later(from)-1, 0):later(to)]
}

// mismatch returns the index of the first value that differs from the expected list; len(seen) if
// values are missing. ok is true if there is none.
func mismatch(want *match.Transitions, seen []turn) (index int, ok bool) {
	for i, m := range want.Values {
		if i >= len(seen) || !m.Matches(seen[i].value) {
			return i, false
		}
	}
	if len(seen) > len(want.Values) && !want.Any {
		return len(want.Values), false
	}
	return 0, true
}

// turnWords lists values with their times: the bad one and a few before and after it.
func turnWords(seen []turn, bad int) string {
	if len(seen) == 0 {
		return "no value"
	}
	const few = 4
	lo, hi := max(bad-few, 0), min(bad+few, len(seen))
	var words []string
	if lo > 0 {
		words = append(words, "...")
	}
	for _, t := range seen[lo:hi] {
		words = append(words, t.value.String()+" from "+at(t.t))
	}
	if hi < len(seen) {
		words = append(words, "...")
	}
	return strings.Join(words, ", ")
}
