package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// HaveBackedOffFor succeeds if the crash-loop back-offs of the container are exactly these, in order. A
// back-off is the time from the end of an instance until the kubelet may start the next one. It counts at the
// time when the kubelet first refuses to start the container because of it. A pod stands for its only
// container; a pod with several is an error.
//
//	Expect(web).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second))
//	Expect(web).To(HaveBackedOffFor(5 * time.Minute).Between(20*time.Minute, 25*time.Minute))
//	Expect(web).To(HaveBackedOffFor()) // no back-off
func HaveBackedOffFor(backOffs ...time.Duration) *HaveBackedOffForMatcher {
	return &HaveBackedOffForMatcher{expected: backOffs}
}

// HaveBackedOffForMatcher is the type of HaveBackedOffFor. The zero value expects no back-off in the whole run.
type HaveBackedOffForMatcher struct {
	settled
	window
	expected []time.Duration
	found    finding
	got      []backOff
}

// maxBackOff is the longest back-off of any configuration of the kubelet.
const maxBackOff = 5 * time.Minute

// backOff is the back-off before one instance.
type backOff struct {
	occurrence
	length time.Duration
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveBackedOffForMatcher) Within(d time.Duration) *HaveBackedOffForMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveBackedOffForMatcher) Between(from, until time.Duration) *HaveBackedOffForMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveBackedOffForMatcher) After(d time.Duration) *HaveBackedOffForMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveBackedOffForMatcher) Match(actual any) (bool, error) {
	return matched("HaveBackedOffFor", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveBackedOffForMatcher) FailureMessage(any) string {
	return m.message("to have backed off", "never to have backed off")
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveBackedOffForMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have backed off", "to have backed off")
}

func (m *HaveBackedOffForMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err == nil {
		err = s.requireOneContainer()
	}
	if err != nil {
		return false, err
	}
	for _, b := range m.expected {
		if b < time.Second || b > maxBackOff {
			return false, fmt.Errorf("a back-off is from 1s to %s, and never %s", value.Format(maxBackOff), b)
		}
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, err
	}
	m.got, m.found = nil, finding{subject: s, center: to}
	same := true
	for _, b := range s.backOffs() {
		if b.t < from || b.t > to {
			continue
		}
		n := len(m.got)
		if same && (n >= len(m.expected) || m.expected[n] != b.length) {
			same, m.found.center = false, b.t
		}
		m.got, m.found.marks = append(m.got, b), append(m.found.marks, b.record)
	}
	return same && len(m.got) == len(m.expected), nil
}

// backOffs returns the back-offs of a container. The kubelet records each of them in several syncs.
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
			list = append(list, backOff{occurrence{r.T, i}, r.Took})
		}
	}
	return list
}

// message has its own words for an empty list of back-offs.
func (m *HaveBackedOffForMatcher) message(expected, none string) string {
	got := "It never did"
	if len(m.got) > 0 {
		got = "It did for " + listOf(m.got, func(b backOff) string { return value.Format(b.length) + " at " + trace.FormatTime(b.t) })
	}
	if len(m.expected) == 0 {
		return m.found.message(none+m.window.words(), got)
	}
	return m.found.message(expected+" for "+listOf(m.expected, value.Format)+m.window.words(), got)
}
