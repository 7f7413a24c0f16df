package probetest

import (
	"time"

	"probesim.dev/trace"
)

// HaveRestarted succeeds if the container, or a container of the pod, restarted. A restart happens when the
// next instance of the container starts.
//
//	Expect(web.Container("app")).To(HaveRestarted().Times(2).Between(40*time.Second, 2*time.Minute))
func HaveRestarted() *HaveRestartedMatcher { return &HaveRestartedMatcher{} }

// HaveRestartedMatcher is the type of HaveRestarted. The zero value expects one restart or more in the whole
// run.
type HaveRestartedMatcher struct {
	settled
	occurrences
}

// Times sets the exact number of restarts that the matcher expects. Times(0) expects none.
func (m *HaveRestartedMatcher) Times(n int) *HaveRestartedMatcher {
	m.setTimes(n)
	return m
}

// AtLeast sets the minimum number of restarts that the matcher expects, 1 or more.
func (m *HaveRestartedMatcher) AtLeast(n int) *HaveRestartedMatcher {
	m.setAtLeast(n)
	return m
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveRestartedMatcher) Within(d time.Duration) *HaveRestartedMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveRestartedMatcher) Between(from, until time.Duration) *HaveRestartedMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveRestartedMatcher) After(d time.Duration) *HaveRestartedMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveRestartedMatcher) Match(actual any) (bool, error) {
	return matched("HaveRestarted", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveRestartedMatcher) FailureMessage(any) string { return m.message("to have restarted") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveRestartedMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have restarted")
}

func (m *HaveRestartedMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	return m.check(s, s.records(func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance > 0 }))
}
