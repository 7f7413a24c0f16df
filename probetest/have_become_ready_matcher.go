package probetest

import "time"

// HaveBecomeReady succeeds if the pod or container became Ready: its status at the API server changed from
// not ready to ready.
//
//	Expect(web).To(HaveBecomeReady().Within(30 * time.Second))
//	Expect(web).To(HaveBecomeReady().Times(1).After(time.Minute))
func HaveBecomeReady() *HaveBecomeReadyMatcher { return &HaveBecomeReadyMatcher{} }

// HaveBecomeReadyMatcher is the type of HaveBecomeReady. The zero value expects one change or more in the
// whole run.
type HaveBecomeReadyMatcher struct {
	settled
	occurrences
}

// Times sets the exact number of changes to ready that the matcher expects. Times(0) expects none.
func (m *HaveBecomeReadyMatcher) Times(n int) *HaveBecomeReadyMatcher {
	m.setTimes(n)
	return m
}

// AtLeast sets the minimum number of changes to ready that the matcher expects, 1 or more.
func (m *HaveBecomeReadyMatcher) AtLeast(n int) *HaveBecomeReadyMatcher {
	m.setAtLeast(n)
	return m
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveBecomeReadyMatcher) Within(d time.Duration) *HaveBecomeReadyMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveBecomeReadyMatcher) Between(from, until time.Duration) *HaveBecomeReadyMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveBecomeReadyMatcher) After(d time.Duration) *HaveBecomeReadyMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveBecomeReadyMatcher) Match(actual any) (bool, error) {
	return matched("HaveBecomeReady", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveBecomeReadyMatcher) FailureMessage(any) string { return m.message("to have become ready") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveBecomeReadyMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have become ready")
}

func (m *HaveBecomeReadyMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	var became []occurrence
	ready := false
	for _, st := range s.statuses() {
		if now := s.ready(st.status); now != ready {
			if ready = now; now {
				became = append(became, st.occurrence)
			}
		}
	}
	return m.check(s, became)
}
