package probetest

import (
	"time"

	"probesim.dev/trace"
)

// ReadyInterval is a time over which something was ready: from From on, and no more at To. Each is a time.Duration since
// t=0, which is compared to the millisecond, or a matcher of Gomega for one; a To of nil means that it was ready still at
// the end of the run, or of the window.
type ReadyInterval struct{ From, To any }

// HaveReadyIntervals succeeds if the pod, or the container, was ready over these intervals and at no other time. An
// interval that reaches into the window counts from its beginning.
//
//	Expect(web).To(HaveReadyIntervals(
//		ReadyInterval{From: 5 * time.Second, To: BeNumerically("<", time.Minute)},
//		ReadyInterval{From: BeNumerically("~", 70*time.Second, time.Second)},
//	))
//	Expect(web).To(HaveReadyIntervals()) // it was never ready
func HaveReadyIntervals(intervals ...ReadyInterval) *HaveReadyIntervalsMatcher {
	m := &HaveReadyIntervalsMatcher{expected: intervals}
	m.matcher = m
	return m
}

// HaveReadyIntervalsMatcher is what HaveReadyIntervals returns; its methods narrow it down.
type HaveReadyIntervalsMatcher struct {
	static
	Window[HaveReadyIntervalsMatcher]
	expected []ReadyInterval
	found    finding
	got      []ready
}

// ready is a time over which something was ready.
type ready struct {
	from, to time.Duration
	open     bool  // it is ready still
	records  []int // that made it so, and not so
}

func (r ready) String() string {
	if r.open {
		return trace.FormatTime(r.from) + " on"
	}
	return trace.FormatTime(r.from) + " to " + trace.FormatTime(r.to)
}

func (i ReadyInterval) String() string {
	if i.To == nil {
		return timeText(i.From) + " on"
	}
	return timeText(i.From) + " to " + timeText(i.To)
}

func (m *HaveReadyIntervalsMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveReadyIntervals", err)
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, named("HaveReadyIntervals", err)
	}
	m.got, m.found = within(s.readyTimes(), from, to), finding{subject: s, center: to}
	for i, r := range m.got {
		m.found.marks = append(m.found.marks, r.records...)
		if i >= len(m.expected) {
			m.found.center = r.from
			return false, nil
		}
		ok, at, err := m.expected[i].matches(r)
		if err != nil || !ok {
			m.found.center = at
			return false, named("HaveReadyIntervals", err)
		}
	}
	return len(m.got) == len(m.expected), nil
}

// matches compares an interval, and returns where it differs.
func (i ReadyInterval) matches(r ready) (bool, time.Duration, error) {
	ok, err := matchesTime(i.From, r.from)
	if err != nil || !ok {
		return false, r.from, err
	}
	if i.To == nil || r.open {
		return i.To == nil && r.open, r.to, nil
	}
	ok, err = matchesTime(i.To, r.to)
	return ok, r.to, err
}

// readyTimes returns when the subject was ready.
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

// within returns the parts of intervals that are in a window.
func within(all []ready, from, to time.Duration) []ready {
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

func (m *HaveReadyIntervalsMatcher) FailureMessage(any) string {
	return m.message("to have been ready", "never to have been ready")
}

func (m *HaveReadyIntervalsMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been ready", "to have been ready")
}

// message has other words for no interval at all.
func (m *HaveReadyIntervalsMatcher) message(what, never string) string {
	got := "It never was"
	if len(m.got) > 0 {
		got = "It was from " + listOf(m.got, ready.String)
	}
	if len(m.expected) == 0 {
		return m.found.message(never+m.window.words(), got)
	}
	return m.found.message(what+" from "+listOf(m.expected, ReadyInterval.String)+m.window.words(), got)
}
