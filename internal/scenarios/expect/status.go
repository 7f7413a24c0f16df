package expect

import (
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// signal returns the times at which the status of a pod matches.
func (c *checker) signal(e *format.Expect, key string) signal {
	var s signal
	if e.Workload != "" {
		return c.workloadSignal(e.Status, key)
	}
	for _, st := range c.index.pod(key).states {
		s.set(st.t, e.Status.Status(st.status, e.Container), st.record)
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
