package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// ReadyInterval is a time during which a pod or container was Ready: from From until it was no longer Ready
// at To. Both count from the addition of the pod. Each is a time.Duration, compared to the millisecond, or a
// Gomega matcher of a time.Duration. A nil To means that it was still Ready at the end of the window or run;
// a nil From is an error.
type ReadyInterval struct{ From, To any }

// HaveReadyIntervals succeeds if the pod or container was Ready during exactly these intervals. An interval
// that began before the window counts from the beginning of the window.
//
//	Expect(web).To(HaveReadyIntervals(
//		ReadyInterval{From: 5 * time.Second, To: BeNumerically("<", time.Minute)},
//		ReadyInterval{From: BeNumerically("~", 70*time.Second, time.Second)},
//	))
//	Expect(web).To(HaveReadyIntervals()) // never Ready
func HaveReadyIntervals(intervals ...ReadyInterval) *HaveReadyIntervalsMatcher {
	return &HaveReadyIntervalsMatcher{expected: intervals}
}

// HaveReadyIntervalsMatcher is the type of HaveReadyIntervals. The zero value expects no interval in the
// whole run.
type HaveReadyIntervalsMatcher struct {
	settled
	window
	expected []ReadyInterval
	found    finding
	got      []ready
}

// ready is an interval of a run in virtual times.
type ready struct {
	from, to virtual.Time
	open     bool  // still ready
	records  []int // indexes of the records that begin and end it
}

func (r ready) String() string {
	if r.open {
		return trace.FormatTime(r.from) + " on"
	}
	return trace.FormatTime(r.from) + " to " + trace.FormatTime(r.to)
}

// String returns the interval in words, such as "5.000s to 60.000s".
func (i ReadyInterval) String() string {
	if i.To == nil {
		return timeText(i.From) + " on"
	}
	return timeText(i.From) + " to " + timeText(i.To)
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveReadyIntervalsMatcher) Within(d time.Duration) *HaveReadyIntervalsMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveReadyIntervalsMatcher) Between(from, until time.Duration) *HaveReadyIntervalsMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveReadyIntervalsMatcher) After(d time.Duration) *HaveReadyIntervalsMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveReadyIntervalsMatcher) Match(actual any) (bool, error) {
	return matched("HaveReadyIntervals", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveReadyIntervalsMatcher) FailureMessage(any) string {
	return m.message("to have been ready", "never to have been ready")
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveReadyIntervalsMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been ready", "to have been ready")
}

func (m *HaveReadyIntervalsMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	from, to, err := m.span(s)
	if err == nil {
		err = m.possible(s, from, to)
	}
	if err != nil {
		return false, err
	}
	m.got, m.found = within(s.readyTimes(), from, to), finding{subject: s, center: to}
	for i, r := range m.got {
		m.found.marks = append(m.found.marks, r.records...)
		if i >= len(m.expected) {
			m.found.center = r.from
			return false, nil
		}
		ok, at, err := m.expected[i].matches(r, s.added())
		if err != nil || !ok {
			m.found.center = at
			return false, err
		}
	}
	return len(m.got) == len(m.expected), nil
}

// possible returns an error if no run can have the intervals.
func (m *HaveReadyIntervalsMatcher) possible(s *subject, from, to virtual.Time) error {
	var last time.Duration // the end of the interval before
	for n, i := range m.expected {
		for _, t := range []any{i.From, i.To} {
			if err := possibleTime(s, t); err != nil && (t != nil || i.From == nil) {
				return fmt.Errorf("interval %d: %w", n+1, err)
			}
		}
		if i.To == nil && n < len(m.expected)-1 {
			return fmt.Errorf("interval %d has no end, and another one follows it", n+1)
		}
		for end, t := range []any{i.From, i.To} {
			d, ok := t.(time.Duration)
			switch at := s.added().Add(d); {
			case !ok:
			case d < last || d == last && end == 1:
				return fmt.Errorf("interval %d is out of order: %s does not come after %s", n+1, value.Format(d), value.Format(last))
			case at < from || at > to:
				return fmt.Errorf("interval %d: %s is outside of the window%s", n+1, value.Format(d), m.window.words())
			default:
				last = d
			}
		}
	}
	return nil
}

// matches compares an interval of a run, and returns the virtual time of the difference.
func (i ReadyInterval) matches(r ready, added virtual.Time) (bool, virtual.Time, error) {
	ok, err := matchesTime(i.From, r.from.Sub(added))
	if err != nil || !ok {
		return false, r.from, err
	}
	if i.To == nil || r.open {
		return i.To == nil && r.open, r.to, nil
	}
	ok, err = matchesTime(i.To, r.to.Sub(added))
	return ok, r.to, err
}

// readyTimes returns the intervals during which the subject was ready.
func (s *subject) readyTimes() []ready {
	var list []ready
	was := false
	for _, st := range s.statuses() {
		now := s.ready(st.status)
		switch {
		case now && !was:
			list = append(list, ready{from: st.t, to: s.pod.log.end, open: true, records: []int{st.record}})
		case !now && was:
			last := &list[len(list)-1]
			last.to, last.open, last.records = st.t, false, append(last.records, st.record)
		}
		was = now
	}
	return list
}

// within returns the parts of intervals that are inside a window.
func within(all []ready, from, to virtual.Time) []ready {
	var list []ready
	for _, r := range all {
		if r.to <= from && !r.open || r.from > to {
			continue
		}
		r.from = max(r.from, from)
		if r.open || r.to > to {
			r.to, r.open = to, true
		}
		list = append(list, r)
	}
	return list
}

// message has its own words for an empty list of intervals.
func (m *HaveReadyIntervalsMatcher) message(expected, none string) string {
	got := "It never was"
	if len(m.got) > 0 {
		got = "It was from " + listOf(m.got, ready.String)
	}
	if len(m.expected) == 0 {
		return m.found.message(none+m.window.words(), got)
	}
	return m.found.message(expected+" from "+listOf(m.expected, ReadyInterval.String)+m.window.words(), got)
}
