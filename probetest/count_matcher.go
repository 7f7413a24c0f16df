package probetest

import "time"

// countable is what a CountMatcher counts.
type countable interface {
	function() string                  // that returns the matcher
	words() string                     // "restarted" in "to have restarted"
	in(*subject) ([]occurrence, error) // the whole run
}

// CountMatcher examines how often something happened to a *Pod or a *Container. The zero value
// expects that it happened once or more in the whole run.
type CountMatcher[C countable] struct {
	settled
	occurrences
	of C
}

// Times sets the exact number that the matcher expects. Times(0) expects none.
func (m *CountMatcher[C]) Times(n int) *CountMatcher[C] {
	m.setTimes(n)
	return m
}

// AtLeast sets the minimum number that the matcher expects, 1 or more.
func (m *CountMatcher[C]) AtLeast(n int) *CountMatcher[C] {
	m.setAtLeast(n)
	return m
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *CountMatcher[C]) Within(d time.Duration) *CountMatcher[C] {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the
// addition of the pod.
func (m *CountMatcher[C]) Between(from, until time.Duration) *CountMatcher[C] {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *CountMatcher[C]) After(d time.Duration) *CountMatcher[C] {
	m.setAfter(d)
	return m
}

// Match examines a *Pod, a *Container, or each element of a list of them. It implements
// gomega.OmegaMatcher, as FailureMessage and NegatedFailureMessage do.
func (m *CountMatcher[C]) Match(actual any) (bool, error) {
	var of C
	return matchedEach(of.function(), m, actual)
}

// FailureMessage returns the message of a failed To.
func (m *CountMatcher[C]) FailureMessage(any) string {
	return m.message("to have "+m.of.words()) + m.others
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *CountMatcher[C]) NegatedFailureMessage(any) string {
	return m.message("not to have "+m.of.words()) + m.others
}

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *CountMatcher[C]) GomegaString() string { return described(m) }

func (m *CountMatcher[C]) wording() string { return "have " + m.of.words() + m.expectation() }

func (m *CountMatcher[C]) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	all, err := m.of.in(s)
	if err != nil {
		return false, err
	}
	return m.check(s, all)
}
