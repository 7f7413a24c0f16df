package probetest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// HaveConditionTransitions succeeds if a condition of the pod had exactly these statuses in order,
// starting with the status at the beginning of the window. The condition is v1.PodInitialized,
// v1.ContainersReady or v1.PodReady; the statuses are v1.ConditionTrue and v1.ConditionFalse.
// Anything else is an error, and so is an assertion about a container.
//
//	Expect(web).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse))
func HaveConditionTransitions(condition v1.PodConditionType,
	statuses ...v1.ConditionStatus) *HaveConditionTransitionsMatcher {
	words := string(condition) + " " + listOf(statuses, func(s v1.ConditionStatus) string { return string(s) })
	return newList("HaveConditionTransitions", "had", words, transitions{condition, statuses}.compare)
}

// HaveConditionTransitionsMatcher is the type of HaveConditionTransitions.
type HaveConditionTransitionsMatcher = ListMatcher

type transitions struct {
	condition v1.PodConditionType
	statuses  []v1.ConditionStatus
}

// conditionAt is the status of a condition from a moment on.
type conditionAt struct {
	occurrence
	status v1.ConditionStatus
}

func (c conditionAt) String() string {
	return string(c.status) + " from " + trace.FormatTime(c.t)
}

func (expected transitions) compare(s *subject, w window) (bool, *finding, error) {
	if err := expected.possible(s); err != nil {
		return false, nil, err
	}
	from, to, err := w.span(s)
	if err != nil {
		return false, nil, err
	}
	var all []conditionAt
	var marks []int
	for _, c := range s.conditions(expected.condition) {
		if c.t > to {
			break
		}
		if c.t <= from { // only the last status before the window matters
			all, marks = nil, nil
		}
		all, marks = append(all, c), append(marks, c.record)
	}
	same, center := len(all) == len(expected.statuses), to
	for i, c := range all {
		if i >= len(expected.statuses) || expected.statuses[i] != c.status {
			same, center = false, max(from, c.t)
			break
		}
	}
	return same, s.finding("It was "+listOf(all, conditionAt.String), center, marks...), nil
}

// possible returns an error if no run can match.
func (expected transitions) possible(s *subject) error {
	if s.container != "" {
		return errors.New("only pods have conditions: assert about the pod and not about a container")
	}
	if _, known := conditionOf(&trace.PodStatus{}, expected.condition); !known {
		return fmt.Errorf("a trace does not contain the condition %q; it contains Initialized, ContainersReady and "+
			"Ready", expected.condition)
	}
	if len(expected.statuses) == 0 {
		return errors.New("the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, once or more")
	}
	for _, status := range expected.statuses {
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
