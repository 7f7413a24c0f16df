package expect

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"probesim.dev/internal/printable"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// signal returns the times at which the state of a pod or a Deployment matches.
func (c *checker) signal(e *format.Expect, key string) signal {
	var s signal
	for _, st := range c.index.pod(key).states {
		s.set(st.t, st.matches(e.Status, e.Container), st.record)
	}
	return s
}

// checkStatusOfPods checks how many pods match at the same instant.
func (c *checker) checkStatusOfPods(e *format.Expect, keys []string, f *failures) {
	signals := make([]signal, len(keys))
	for i, key := range keys {
		signals[i] = c.signal(e, key)
	}
	c.status(e, keys, count(signals, e.Pods.Contains), c.windowsOfAny(e, keys, f), f)
}

// windowsOfAny returns the windows of all pods: one for each match of since.
func (c *checker) windowsOfAny(e *format.Expect, keys []string, f *failures) []window {
	if e.Since == nil {
		return c.windows(e, "", f)
	}
	quiet := &failures{checker: c, expect: e}
	var all []window
	for _, key := range keys {
		all = append(all, c.windows(e, key, quiet)...)
	}
	if len(all) == 0 {
		f.take(quiet)
	}
	slices.SortFunc(all, func(a, b window) int { return a.anchor - b.anchor })
	return slices.Compact(all)
}

// status checks a signal, of one pod or of the number of matching pods, in each window.
func (c *checker) status(e *format.Expect, keys []string, s signal, windows []window, f *failures) {
	for _, w := range windows {
		from, to := w.instants()
		if to < from {
			to = from
		}
		switch kind := e.Window().Kind; kind {
		case format.Always, format.Never:
			if t, record, bad := s.first(kind == format.Never, from, to); bad {
				f.add(c.stateFailure(e, keys, &s, w, t, record))
			}
		default:
			if _, _, ok := s.first(true, from, to); !ok {
				f.add(c.nowhere(e, keys, &s, w, from, to))
			}
		}
	}
}

// stateFailure describes a forbidden state at t, and how long it lasted.
func (c *checker) stateFailure(e *format.Expect, keys []string, s *signal, w window, t virtual.Time,
	record int) failure {
	wrong := failure{kind: WrongState, key: keys[0], keys: keys, window: w, center: t, marks: marks(record)}
	wrong.got = func() string {
		last, until := c.run.End, " to the end of the run"
		if end, ends := s.until(t); ends {
			last, until = end-1, " to "+at(end)
		}
		first, then := c.stateWords(e, keys, t), c.stateWords(e, keys, last)
		if first == then {
			return first + " from " + at(t) + until
		}
		return first + " from " + at(t) + ", then " + then + until
	}
	return wrong
}

// nowhere describes a state that matches at no instant of [from, to], and names the nearest match.
func (c *checker) nowhere(e *format.Expect, keys []string, s *signal, w window, from, to virtual.Time) failure {
	kind, next := Missing, ""
	if t, _, later := s.first(true, to, virtual.Max); later {
		kind, next = TooLate, "; the next match is at "+at(t)
	} else if i := s.after(from); i > 0 && len(s.edges) > 0 && from > 0 {
		kind, next = TooEarly, "; the last match ended at "+at(s.edges[i-1].t)
	}
	return failure{kind: kind, key: keys[0], keys: keys, window: w, center: to, undecided: w.open, got: func() string {
		text := c.stateWords(e, keys, from) + " at " + at(from)
		if to > from {
			text += fmt.Sprintf(" and no match until %s", at(to))
		}
		return text + next
	}}
}

func marks(record int) []int {
	if record < 0 {
		return nil
	}
	return []int{record}
}

// checkPodCount checks how many of the pods satisfy an expectation.
func (c *checker) checkPodCount(e *format.Expect, keys []string, f *failures) {
	var good, bad []string
	var first *failures
	undecided := false
	for _, key := range keys {
		own := &failures{checker: c, expect: e}
		if c.checkPod(e, key, own); own.count == 0 {
			good = append(good, trace.PodName(key))
			continue
		}
		bad = append(bad, trace.PodName(key))
		undecided, first = undecided || own.undecided, cmp.Or(first, own)
	}
	if e.Pods.Contains(len(good)) {
		return
	}
	fail := failure{kind: TooMany, keys: keys, window: window{anchor: -1}, undecided: undecided, center: c.run.End}
	if first != nil && len(good) < e.Pods.Min {
		fail.kind = first.firstFailure.kind
	}
	if first != nil {
		fail.center, fail.marks = first.firstFailure.center, first.firstFailure.marks
	}
	fail.got = func() string {
		text := podCountWords(good, bad)
		if first != nil && len(good) < e.Pods.Min {
			text += "; " + bad[0] + ": " + first.firstFailure.got()
		}
		return text
	}
	f.add(fail)
}

// podCountWords says how many pods are good, and names the good pods or the bad pods, whichever are
// fewer.
func podCountWords(good, bad []string) string {
	const few = 6
	text := fmt.Sprintf("%d of %d pods", len(good), len(good)+len(bad))
	switch {
	case len(good) == 0 || len(bad) == 0:
		return text
	case len(bad) < len(good):
		return text + " (all but " + printable.Some(bad, few) + ")"
	}
	return text + " (" + printable.Some(good, few) + ")"
}

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
