package probetest

import (
	"fmt"
	"slices"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/strict"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveEvent succeeds if the kubelet wrote an event about the pod or a container of it with a reason, such as Unhealthy.
// Each time that it wrote it counts; kubectl shows them counted up. A reason that no event has is an error.
//
//	Expect(web).To(HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).WithMessage(HavePrefix("Liveness")).Times(3))
func HaveEvent(reason string) *HaveEventMatcher {
	m := &HaveEventMatcher{reason: reason}
	m.matcher = m
	return m
}

// HaveEventMatcher is what HaveEvent returns; its methods narrow it down.
type HaveEventMatcher struct {
	static
	Happens[HaveEventMatcher]

	reason, eventType string
	text              any // string or matcher; nil: any
}

// OfType has the matcher look for events of a type: Normal or Warning.
func (m *HaveEventMatcher) OfType(eventType string) *HaveEventMatcher {
	m.eventType = eventType
	return m
}

// WithMessage has the matcher look for events with a message: a string that it is, or a matcher of Gomega.
func (m *HaveEventMatcher) WithMessage(message any) *HaveEventMatcher {
	m.text = message
	return m
}

func matchesText(expected any, text string) (bool, error) {
	switch e := expected.(type) {
	case nil:
		return true, nil
	case string:
		return e == text, nil
	case types.GomegaMatcher:
		return e.Match(text)
	}
	return false, fmt.Errorf("a message is a string or a matcher, not a %T", expected)
}

func (m *HaveEventMatcher) event() string {
	text := "an event " + m.reason
	if m.eventType != "" {
		text = "an event " + m.eventType + " " + m.reason
	}
	switch e := m.text.(type) {
	case string:
		text += fmt.Sprintf(" with the message %q", e)
	case types.GomegaMatcher:
		text += " with a message that matches"
	}
	return text
}

func (m *HaveEventMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveEvent", err)
	}
	var wrong error
	events := s.records(func(r *trace.Record) bool {
		if r.Kind != trace.Event || r.Reason != m.reason || m.eventType != "" && r.Type != m.eventType {
			return false
		}
		ok, err := matchesText(m.text, r.Message)
		if err != nil {
			wrong = err
		}
		return ok
	})
	if reasons := match.ReasonsOf(trace.Event); wrong == nil && !slices.Contains(reasons, m.reason) {
		wrong = fmt.Errorf("the kubelet leaves no event %q%s", m.reason, strict.DidYouMean(m.reason, reasons))
	}
	if wrong != nil {
		return false, named("HaveEvent", wrong)
	}
	ok, err := m.look(s, events)
	return ok, named("HaveEvent", err)
}

func (m *HaveEventMatcher) FailureMessage(any) string { return m.message("to have " + m.event()) }

func (m *HaveEventMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have " + m.event())
}
