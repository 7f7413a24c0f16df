package probetest

import (
	"time"

	"probesim.dev/trace"
)

// HaveBeenReadyBeforeStarted succeeds if a status of the container, or of a container of the pod, was ready
// and not started. With a startup probe that must never happen:
//
//	Expect(web).NotTo(HaveBeenReadyBeforeStarted())
func HaveBeenReadyBeforeStarted() *HaveBeenReadyBeforeStartedMatcher {
	return &HaveBeenReadyBeforeStartedMatcher{}
}

// HaveBeenReadyBeforeStartedMatcher is the type of HaveBeenReadyBeforeStarted. The zero value expects one
// such status or more in the whole run.
type HaveBeenReadyBeforeStartedMatcher struct {
	settled
	occurrences
}

// Times sets the exact number of such statuses that the matcher expects. Times(0) expects none.
func (m *HaveBeenReadyBeforeStartedMatcher) Times(n int) *HaveBeenReadyBeforeStartedMatcher {
	m.setTimes(n)
	return m
}

// AtLeast sets the minimum number of such statuses that the matcher expects, 1 or more.
func (m *HaveBeenReadyBeforeStartedMatcher) AtLeast(n int) *HaveBeenReadyBeforeStartedMatcher {
	m.setAtLeast(n)
	return m
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveBeenReadyBeforeStartedMatcher) Within(d time.Duration) *HaveBeenReadyBeforeStartedMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveBeenReadyBeforeStartedMatcher) Between(from, until time.Duration) *HaveBeenReadyBeforeStartedMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveBeenReadyBeforeStartedMatcher) After(d time.Duration) *HaveBeenReadyBeforeStartedMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveBeenReadyBeforeStartedMatcher) Match(actual any) (bool, error) {
	return matched("HaveBeenReadyBeforeStarted", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveBeenReadyBeforeStartedMatcher) FailureMessage(any) string {
	return m.message("to have been ready before it was started")
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveBeenReadyBeforeStartedMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been ready before it was started")
}

func (m *HaveBeenReadyBeforeStartedMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	var early []occurrence
	for _, st := range s.statuses() {
		if s.hasContainer(st.status, func(c *trace.ContainerStatus) bool { return c.Ready && !c.Started }) {
			early = append(early, st.occurrence)
		}
	}
	return m.check(s, early)
}
