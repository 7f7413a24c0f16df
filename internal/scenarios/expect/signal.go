package expect

import (
	"cmp"
	"slices"
	"sort"

	"probesim.dev/sim/virtual"
)

// signal is a boolean function of time.
type signal struct {
	initial bool // the value before the first edge
	edges   []edge
}

// edge is a change of a signal, and the record that caused it.
type edge struct {
	t      virtual.Time
	on     bool
	record int
}

func (s *signal) set(t virtual.Time, on bool, record int) {
	if s.last() != on {
		s.edges = append(s.edges, edge{t, on, record})
	}
}

func (s *signal) last() bool {
	if n := len(s.edges); n > 0 {
		return s.edges[n-1].on
	}
	return s.initial
}

// after returns the index of the first edge later than t.
func (s *signal) after(t virtual.Time) int {
	return sort.Search(len(s.edges), func(i int) bool { return s.edges[i].t > t })
}

// at reports whether the signal holds at t.
func (s *signal) at(t virtual.Time) bool {
	if i := s.after(t); i > 0 {
		return s.edges[i-1].on
	}
	return s.initial
}

// first returns the first instant of [from, to] at which the signal has the value on, and the
// record that set this value: -1 if it is the initial value. found is false if there is no such
// instant.
func (s *signal) first(on bool, from, to virtual.Time) (t virtual.Time, record int, found bool) {
	i := s.after(from)
	if s.at(from) == on {
		if i == 0 {
			return from, -1, true
		}
		return from, s.edges[i-1].record, true
	}
	if i < len(s.edges) && s.edges[i].t <= to {
		return s.edges[i].t, s.edges[i].record, true
	}
	return 0, -1, false
}

// until returns the time of the first change after t, or false if there is none.
func (s *signal) until(t virtual.Time) (virtual.Time, bool) {
	if i := s.after(t); i < len(s.edges) {
		return s.edges[i].t, true
	}
	return 0, false
}

// count returns the signal that is on while want accepts the number of signals that are on.
func count(signals []signal, want func(int) bool) signal {
	type change struct {
		edge
		by int
	}
	var changes []change
	n := 0
	for _, s := range signals {
		if s.initial {
			n++
		}
		for _, e := range s.edges {
			by := -1
			if e.on {
				by = 1
			}
			changes = append(changes, change{e, by})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.t, b.t) })
	sum := signal{initial: want(n)}
	for i, c := range changes {
		n += c.by
		if i+1 == len(changes) || changes[i+1].t > c.t {
			sum.set(c.t, want(n), c.record)
		}
	}
	return sum
}
