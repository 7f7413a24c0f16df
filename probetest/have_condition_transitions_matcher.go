package probetest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// HaveConditionTransitions succeeds if a condition of the pod had these statuses, all of them in order, beginning with the
// one that it had at the beginning of the window: v1.PodInitialized, v1.ContainersReady or v1.PodReady.
//
//	Expect(web).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse))
func HaveConditionTransitions(condition v1.PodConditionType, statuses ...v1.ConditionStatus) *HaveConditionTransitionsMatcher {
	m := &HaveConditionTransitionsMatcher{condition: condition, expected: statuses}
	m.matcher = m
	return m
}

// HaveConditionTransitionsMatcher is what HaveConditionTransitions returns; its methods narrow it down.
type HaveConditionTransitionsMatcher struct {
	static
	Window[HaveConditionTransitionsMatcher]
	condition v1.PodConditionType
	expected  []v1.ConditionStatus
	found     finding
	got       []conditionAt
}

// conditionAt is the status of a condition from a time on.
type conditionAt struct {
	happening
	status v1.ConditionStatus
}

func (c conditionAt) String() string { return string(c.status) + " from " + trace.FormatTime(c.t) }

func (m *HaveConditionTransitionsMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.check(s)
	}
	if err != nil {
		return false, named("HaveConditionTransitions", err)
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, named("HaveConditionTransitions", err)
	}
	m.got, m.found = nil, finding{subject: s, center: to}
	for _, c := range s.conditions(m.condition) {
		if c.t > to {
			break
		}
		if c.t <= from { // what it was before does not matter
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

// check refuses what no run can show.
func (m *HaveConditionTransitionsMatcher) check(s *subject) error {
	if s.container != "" {
		return errors.New("conditions are those of a pod")
	}
	if _, known := conditionOf(&trace.PodStatus{}, m.condition); !known {
		return fmt.Errorf("a run does not show the condition %q, only Initialized, ContainersReady and Ready", m.condition)
	}
	if len(m.expected) == 0 {
		return errors.New("say the statuses that the condition has")
	}
	for _, status := range m.expected {
		if status != v1.ConditionTrue && status != v1.ConditionFalse {
			return fmt.Errorf("the condition is never %q, only True or False", status)
		}
	}
	return nil
}

// conditions returns the statuses that a condition takes, without repetitions.
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
			list = append(list, conditionAt{st.happening, status})
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

func (m *HaveConditionTransitionsMatcher) FailureMessage(any) string { return m.message("to have had") }

func (m *HaveConditionTransitionsMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have had")
}

func (m *HaveConditionTransitionsMatcher) message(what string) string {
	expected := listOf(m.expected, func(s v1.ConditionStatus) string { return string(s) })
	return m.found.message(fmt.Sprintf("%s %s %s%s", what, m.condition, expected, m.window.words()),
		"It was "+listOf(m.got, conditionAt.String))
}
