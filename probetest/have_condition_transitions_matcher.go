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

func (expected transitions) compare(s *subject, w window) (bool, *finding, error) {
	if err := expected.possible(s); err != nil {
		return false, nil, err
	}
	from, to, err := w.span(s)
	if err != nil {
		return false, nil, err
	}
	var all []change
	var marks []int
	for _, c := range s.changes(expected.value) {
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
		if i >= len(expected.statuses) || expected.statuses[i] != statusOf(c) {
			same, center = false, max(from, c.t)
			break
		}
	}
	got := listOf(all, func(c change) string { return string(statusOf(c)) + " from " + trace.FormatTime(c.t) })
	return same, s.finding("It was "+got, center, marks...), nil
}

// possible returns an error if no run can match.
func (expected transitions) possible(s *subject) error {
	if s.container != "" {
		return errors.New("only pods have conditions: assert about the pod and not about a container")
	}
	if conditions[expected.condition] == nil {
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

// conditions are the conditions that a trace contains.
var conditions = map[v1.PodConditionType]func(*trace.PodStatus) bool{
	v1.PodInitialized:  func(s *trace.PodStatus) bool { return s.Initialized },
	v1.ContainersReady: func(s *trace.PodStatus) bool { return s.ContainersReady },
	v1.PodReady:        func(s *trace.PodStatus) bool { return s.Ready },
}

// value returns the value of the condition in a status.
func (expected transitions) value(status *trace.PodStatus) (on, known bool) {
	return status != nil && conditions[expected.condition](status), status != nil
}

func statusOf(c change) v1.ConditionStatus {
	if c.on {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}
