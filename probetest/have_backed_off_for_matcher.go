package probetest

import (
	"errors"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// HaveBackedOffFor succeeds if the crash-loop back-offs of the container are these, in order. A back-off is how long the
// kubelet has a container wait from its end to its next start; it happens when the kubelet first refuses to start the
// instance because of it. A pod stands for its only container.
//
//	Expect(web).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second))
//	Expect(web).To(HaveBackedOffFor(5 * time.Minute).Between(20*time.Minute, 25*time.Minute))
//	Expect(web).To(HaveBackedOffFor()) // there was none
func HaveBackedOffFor(backOffs ...time.Duration) *HaveBackedOffForMatcher {
	m := &HaveBackedOffForMatcher{expected: backOffs}
	m.matcher = m
	return m
}

// HaveBackedOffForMatcher is what HaveBackedOffFor returns; its methods narrow it down.
type HaveBackedOffForMatcher struct {
	static
	Window[HaveBackedOffForMatcher]
	expected []time.Duration
	found    finding
	got      []backOff
}

// backOff is that of one instance.
type backOff struct {
	happening
	length time.Duration
}

func (m *HaveBackedOffForMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = s.one()
	}
	if err == nil && !s.pod.log.internal {
		err = errors.New("the run has no records of back-offs")
	}
	if err != nil {
		return false, named("HaveBackedOffFor", err)
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, named("HaveBackedOffFor", err)
	}
	m.got, m.found = nil, finding{subject: s, center: to}
	for _, b := range s.backOffs() {
		if b.t < from || b.t > to {
			continue
		}
		if n := len(m.got); m.found.center == to && (n >= len(m.expected) || m.expected[n] != b.length) {
			m.found.center = b.t
		}
		m.got, m.found.marks = append(m.got, b), append(m.found.marks, b.record)
	}
	return m.same(), nil
}

func (m *HaveBackedOffForMatcher) same() bool {
	if len(m.got) != len(m.expected) {
		return false
	}
	for i, b := range m.got {
		if b.length != m.expected[i] {
			return false
		}
	}
	return true
}

// backOffs returns the back-offs of a container. The kubelet comes to each of them in several syncs.
func (s *subject) backOffs() []backOff {
	var list []backOff
	waiting := false
	for _, i := range s.pod.indexes() {
		r := s.record(i)
		switch {
		case !s.about(r):
		case r.Kind == trace.ContainerStarted:
			waiting = false
		case r.Kind == trace.BackOff && !waiting:
			waiting = true
			list = append(list, backOff{happening{r.T, i}, r.Took})
		}
	}
	return list
}

func (m *HaveBackedOffForMatcher) FailureMessage(any) string {
	return m.message("to have backed off", "never to have backed off")
}

func (m *HaveBackedOffForMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have backed off", "to have backed off")
}

// message has other words for no back-off at all.
func (m *HaveBackedOffForMatcher) message(what, never string) string {
	got := "It never did"
	if len(m.got) > 0 {
		got = "It did for " + listOf(m.got, func(b backOff) string { return value.Format(b.length) + " at " + trace.FormatTime(b.t) })
	}
	if len(m.expected) == 0 {
		return m.found.message(never+m.window.words(), got)
	}
	return m.found.message(what+" for "+listOf(m.expected, value.Format)+m.window.words(), got)
}
