package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/strict"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveEvent succeeds if the kubelet emitted an event with a reason, such as Unhealthy, about the
// pod or its containers, or about the container. Each emission counts; kubectl shows repeated ones
// as one event with a count.
//
//	Expect(web).To(HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).WithMessage(HavePrefix("Liveness")).Times(3))
//
// A reason that the kubelet never uses is an error, even with NotTo.
func HaveEvent(reason string) *HaveEventMatcher {
	m := &HaveEventMatcher{reason: reason}
	m.function, m.judge, m.whole, m.in = "HaveEvent", m, m, m.events
	return m
}

// HaveEventMatcher is the type of HaveEvent.
type HaveEventMatcher struct {
	counted[HaveEventMatcher]
	reason    string
	eventType *string // nil: any
	text      *any    // a string or a matcher; nil: any
}

// OfType limits the matcher to events of a type: v1.EventTypeNormal or v1.EventTypeWarning. Any
// other type is an error.
func (m *HaveEventMatcher) OfType(eventType string) *HaveEventMatcher {
	m.eventType = &eventType
	return m
}

// WithMessage limits the matcher to events with a message: the exact string, or one that a Gomega
// matcher accepts.
func (m *HaveEventMatcher) WithMessage(message any) *HaveEventMatcher {
	m.text = &message
	return m
}

func (m *HaveEventMatcher) expected(to string) string {
	text := to + "have an event "
	if m.eventType != nil {
		text += *m.eventType + " "
	}
	text += m.reason
	if m.text != nil {
		switch e := (*m.text).(type) {
		case string:
			text += fmt.Sprintf(" with the message %q", e)
		case types.GomegaMatcher:
			text += " with a message that matches " + gomegacall.Of(e)
		}
	}
	return text + m.expectation()
}

// events returns the events with the reason in the pod. Those that the matcher excludes are near
// misses.
func (m *HaveEventMatcher) events(s *subject) ([]occurrence, error) {
	if err := m.possible(s); err != nil {
		return nil, err
	}
	of := &subject{pod: s.pod}
	events := of.records(func(r *trace.Record) bool { return r.Kind == trace.Event && r.Reason == m.reason })
	for i := range events {
		r := s.record(events[i].record)
		ok := s.about(r) && (m.eventType == nil || r.Type == *m.eventType)
		if ok && m.text != nil {
			var err error
			if ok, err = matchesText(*m.text, r.Message); err != nil {
				return nil, err
			}
		}
		if !ok {
			events[i].miss = fmt.Sprintf("%s %.100q", r.Type, r.Message)
			if !s.about(r) && r.Container != "" {
				events[i].miss += " of the container " + r.Container
			}
		}
	}
	return events, nil
}

// possible returns an error if no event can match.
func (m *HaveEventMatcher) possible(s *subject) error {
	eventTypes := []string{v1.EventTypeNormal, v1.EventTypeWarning}
	if t := m.eventType; t != nil && !slices.Contains(eventTypes, *t) {
		return fmt.Errorf("events have the type Normal or Warning, and never %q%s", *t,
			strict.DidYouMean(*t, eventTypes))
	}
	if m.reason == "" {
		return errors.New("the reason of the event is missing")
	}
	if reasons := match.ReasonsOf(trace.Event); !slices.Contains(reasons, m.reason) {
		return fmt.Errorf("the kubelet emits no event with the reason %q%s", m.reason,
			strict.DidYouMean(m.reason, reasons))
	}
	if eventTypes = match.TypesOf(m.reason); m.eventType != nil && !slices.Contains(eventTypes, *m.eventType) {
		return fmt.Errorf("an event with the reason %s has the type %s, and never %s", m.reason,
			strings.Join(eventTypes, " or "), *m.eventType)
	}
	if s.container != "" && match.AboutPod(m.reason) {
		return fmt.Errorf("an event with the reason %s is about a pod, and never about a container: assert about "+
			"the pod", m.reason)
	}
	if probed := m.reason == "Unhealthy" || m.reason == "ProbeWarning"; probed && len(s.probes()) == 0 {
		return fmt.Errorf("%s has no probe, and only probes cause events with the reason %s", s, m.reason)
	}
	if m.text == nil {
		return nil
	}
	switch e := (*m.text).(type) {
	case types.GomegaMatcher:
		if isNilMatcher(e) {
			return errors.New("the matcher of the message is nil")
		}
		return nil
	case string:
		if e == "" {
			return errors.New("the message is missing: no event has an empty message")
		}
		return nil
	case nil:
		return errors.New("the message is nil: give a string or a matcher")
	default:
		return fmt.Errorf("a message is a string or a matcher, not a value of type %T", e)
	}
}

func matchesText(expected any, text string) (bool, error) {
	if m, ok := expected.(types.GomegaMatcher); ok {
		return m.Match(text)
	}
	return expected == text, nil
}
