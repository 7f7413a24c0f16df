package probetest

import "time"

// listed is the list that a ListMatcher expects.
type listed interface {
	function() string // that returns the matcher
	verb() string     // "backed off" in "to have backed off for 10s, 20s"
	list() string     // "for 10s, 20s"; empty if nothing may happen
	// compare compares the list with the run of a subject in a window. It says in a sentence what
	// it found.
	compare(*subject, window) (ok bool, found finding, got string, err error)
}

// ListMatcher examines whether exactly some things happened to a *Pod or a *Container, in order.
type ListMatcher[L listed] struct {
	settled
	window
	expected L
	found    finding
	got      string
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *ListMatcher[L]) Within(d time.Duration) *ListMatcher[L] {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the
// addition of the pod.
func (m *ListMatcher[L]) Between(from, until time.Duration) *ListMatcher[L] {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *ListMatcher[L]) After(d time.Duration) *ListMatcher[L] {
	m.setAfter(d)
	return m
}

// Match examines a *Pod, a *Container, or each element of a list of them. It implements
// gomega.OmegaMatcher, as FailureMessage and NegatedFailureMessage do.
func (m *ListMatcher[L]) Match(actual any) (bool, error) {
	var expected L
	return matchedEach(expected.function(), m, actual)
}

// FailureMessage returns the message of a failed To.
func (m *ListMatcher[L]) FailureMessage(any) string {
	return m.message("to have ", "never to have ") + m.others
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *ListMatcher[L]) NegatedFailureMessage(any) string {
	return m.message("not to have ", "to have ") + m.others
}

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *ListMatcher[L]) GomegaString() string { return described(m) }

func (m *ListMatcher[L]) wording() string { return m.words("have ", "never have ") }

func (m *ListMatcher[L]) happened() string { return m.got }

func (m *ListMatcher[L]) examined() *subject { return m.found.subject }

func (m *ListMatcher[L]) match(actual any) (ok bool, err error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	ok, found, got, err := m.expected.compare(s, m.window)
	if err == nil {
		m.found, m.got = found, got
	}
	return ok, err
}

func (m *ListMatcher[L]) message(expected, none string) string {
	return m.found.message(m.words(expected, none), m.got)
}

// words describes the expectation. It has its own words for an empty list.
func (m *ListMatcher[L]) words(expected, none string) string {
	if m.expected.list() == "" {
		return none + m.expected.verb() + m.window.words()
	}
	return expected + m.expected.verb() + " " + m.expected.list() + m.window.words()
}
