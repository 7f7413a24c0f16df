package probetest

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// HaveConditionTransitions succeeds if a condition of the pod had exactly these statuses in order, starting
// with the status at the beginning of the window. The condition is v1.PodInitialized, v1.ContainersReady or
// v1.PodReady; the statuses are v1.ConditionTrue and v1.ConditionFalse. Anything else is an error, and so
// is an assertion about a container.
//
//	Expect(web).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse))
func HaveConditionTransitions(condition v1.PodConditionType, statuses ...v1.ConditionStatus) *HaveConditionTransitionsMatcher {
	return &HaveConditionTransitionsMatcher{condition: condition, expected: statuses}
}

// HaveConditionTransitionsMatcher is the type of HaveConditionTransitions. The zero value has no condition,
// which is an error.
type HaveConditionTransitionsMatcher struct {
	settled
	window
	condition v1.PodConditionType
	expected  []v1.ConditionStatus
	found     finding
	got       []conditionAt
}

// conditionAt is the status of a condition from a moment on.
type conditionAt struct {
	occurrence
	status v1.ConditionStatus
}

func (c conditionAt) String() string {
	return string(c.status) + " from " + trace.FormatTime(c.t)
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveConditionTransitionsMatcher) Within(d time.Duration) *HaveConditionTransitionsMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveConditionTransitionsMatcher) Between(from, until time.Duration) *HaveConditionTransitionsMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveConditionTransitionsMatcher) After(d time.Duration) *HaveConditionTransitionsMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveConditionTransitionsMatcher) Match(actual any) (bool, error) {
	return matched("HaveConditionTransitions", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveConditionTransitionsMatcher) FailureMessage(any) string { return m.message("to have had") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveConditionTransitionsMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have had")
}

func (m *HaveConditionTransitionsMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err == nil {
		err = m.possible(s)
	}
	if err != nil {
		return false, err
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, err
	}
	m.got, m.found = nil, finding{subject: s, center: to}
	for _, c := range s.conditions(m.condition) {
		if c.t > to {
			break
		}
		if c.t <= from { // only the last status before the window matters
			m.got, m.found.marks = nil, nil
		}
		m.got, m.found.marks = append(m.got, c), append(m.found.marks, c.record)
	}
	for i, c := range m.got {
		if i >= len(m.expected) || m.expected[i] != c.status {
			m.found.center = max(from, c.t)
			return false, nil
		}
	}
	return len(m.got) == len(m.expected), nil
}

// possible returns an error if no run can match.
func (m *HaveConditionTransitionsMatcher) possible(s *subject) error {
	if s.container != "" {
		return errors.New("only pods have conditions: assert about the pod and not about a container")
	}
	if _, known := conditionOf(&trace.PodStatus{}, m.condition); !known {
		return fmt.Errorf("a trace does not contain the condition %q; it contains Initialized, ContainersReady and Ready", m.condition)
	}
	if len(m.expected) == 0 {
		return errors.New("the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, once or more")
	}
	for _, status := range m.expected {
		if status != v1.ConditionTrue && status != v1.ConditionFalse {
			return fmt.Errorf("the status of a condition is True or False, and never %q", status)
		}
	}
	return nil
}

// conditions returns the successive statuses of a condition, without repetitions.
func (s *subject) conditions(condition v1.PodConditionType) []conditionAt {
	var list []conditionAt
	for _, st := range s.statuses() {
		if st.status == nil {
			continue
		}
		status := v1.ConditionFalse
		if on, _ := conditionOf(st.status, condition); on {
			status = v1.ConditionTrue
		}
		if n := len(list); n == 0 || list[n-1].status != status {
			list = append(list, conditionAt{st.occurrence, status})
		}
	}
	return list
}

func conditionOf(s *trace.PodStatus, condition v1.PodConditionType) (on, known bool) {
	switch condition {
	case v1.PodInitialized:
		return s.Initialized, true
	case v1.ContainersReady:
		return s.ContainersReady, true
	case v1.PodReady:
		return s.Ready, true
	}
	return false, false
}

func (m *HaveConditionTransitionsMatcher) message(expected string) string {
	statuses := listOf(m.expected, func(s v1.ConditionStatus) string { return string(s) })
	return m.found.message(fmt.Sprintf("%s %s %s%s", expected, m.condition, statuses, m.window.words()),
		"It was "+listOf(m.got, conditionAt.String))
}
