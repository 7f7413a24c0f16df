package probetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/show/history"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// HaveLostRequests succeeds if so many of the requests to a *Service are lost. The number is an
// int, to which the number of lost requests is rounded (0 means that not even a part of one is
// lost), or a Gomega matcher of a float64.
//
//	Expect(shop).To(HaveLostRequests(0))
//	Expect(shop).To(HaveLostRequests(BeNumerically("<", 20)))
func HaveLostRequests(number any) *HaveLostRequestsMatcher {
	return &HaveLostRequestsMatcher{number: number}
}

// HaveLostRequestsMatcher is the type of HaveLostRequests.
type HaveLostRequestsMatcher struct {
	settled
	number any

	service *Service // of the last Match
}

// Match examines a *Service. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveLostRequestsMatcher) Match(actual any) (bool, error) {
	return matched("HaveLostRequests", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveLostRequestsMatcher) FailureMessage(any) string { return m.message("to have ") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveLostRequestsMatcher) NegatedFailureMessage(any) string { return m.message("not to have ") }

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *HaveLostRequestsMatcher) GomegaString() string {
	if m.service == nil {
		return "have " + m.expectation()
	}
	head, _, _ := strings.Cut(m.happened(), "\n")
	return "have " + m.expectation() + "; the last one examined is " + m.service.String() + ": " +
		strings.TrimSuffix(head, ":")
}

func (m *HaveLostRequestsMatcher) match(actual any) (bool, error) {
	if m.wasPolled() {
		return false, errPolled
	}
	s, ok := actual.(*Service)
	switch {
	case !ok:
		return false, fmt.Errorf("expected a *probetest.Service, got a %T", actual)
	case s == nil:
		return false, errNoObject
	}
	if err := s.examine(); err != nil {
		return false, err
	}
	switch {
	case len(s.streams) == 0:
		return false, fmt.Errorf("no requests are sent to the %s: give AddService some Requests", s)
	case s.sent() == 0:
		return false, fmt.Errorf("no request has been sent to the %s yet: no router has had a target%s", s,
			s.node.more())
	}
	m.service = s
	lost := s.LostRequests()
	switch n := m.number.(type) {
	case int:
		if n == 0 {
			return lost < 1e-6, nil
		}
		return n == int(math.Round(lost)), nil
	case types.GomegaMatcher:
		if isNilMatcher(n) {
			return false, fmt.Errorf("the matcher of the number is nil")
		}
		return n.Match(lost)
	}
	return false, fmt.Errorf("the number must be an int or a matcher, not a %T", m.number)
}

// expectation describes the expected number.
func (m *HaveLostRequestsMatcher) expectation() string {
	switch n := m.number.(type) {
	case int:
		return fmt.Sprintf("lost %d requests", n)
	case types.GomegaMatcher:
		if m.service == nil {
			break
		}
		lines := strings.Split(n.FailureMessage(m.service.LostRequests()), "\n")
		// "to be <" and "    <int>: 20"
		if verb, compares := strings.CutPrefix(lines[max(0, len(lines)-2)], "to be "); compares {
			_, limit, _ := strings.Cut(lines[len(lines)-1], ": ")
			return "lost " + verb + " " + limit + " requests"
		}
	}
	return "lost a number of requests that the matcher accepts"
}

func (m *HaveLostRequestsMatcher) message(expected string) string {
	if m.service == nil {
		return expected + m.expectation() + ": the matcher has not examined anything yet"
	}
	var marks []int
	var pods []string
	losses := m.service.losses()
	center := m.service.log.end
	for _, l := range losses {
		center = min(center, l.From)
	}
	for _, l := range losses {
		i := slices.IndexFunc(m.service.log.records, func(r trace.Record) bool { return r.Step == l.Record.Step })
		if marks = append(marks, i); l.From == center {
			pods = append(pods, l.Pod)
		}
	}
	return m.service.message(expected+m.expectation(), m.happened(), marks, center, pods...)
}

// happened says how many requests are lost, of which pods, why and when.
func (m *HaveLostRequestsMatcher) happened() string {
	sent, losses := m.service.sent(), m.service.losses()
	if len(losses) == 0 {
		return fmt.Sprintf("None of %.0f requests is lost.", sent)
	}
	losses = joined(losses)
	text := fmt.Sprintf("%s of %.0f requests are lost, the first at %s:", round(m.service.LostRequests()), sent,
		trace.FormatTime(losses[0].From))
	for i, l := range losses {
		if i == maxTimes {
			return text + fmt.Sprintf("\n    and %d more", len(losses)-maxTimes)
		}
		text += fmt.Sprintf("\n    %s: %s", round(l.Lost), why(&l))
	}
	return text
}

// joined returns losses by time. Those of a pod that only another number of targets separates are
// one.
func joined(losses []history.Loss) []history.Loss {
	slices.SortStableFunc(losses, func(a, b history.Loss) int { return cmp.Compare(a.From, b.From) })
	var list []history.Loss
	for _, l := range losses {
		i := slices.IndexFunc(list, func(of history.Loss) bool {
			return of.To == l.From && of.Pod == l.Pod && of.Record.Reason == l.Record.Reason &&
				of.Record.Object.Loss.Router == l.Record.Object.Loss.Router
		})
		if i < 0 {
			list = append(list, l)
			continue
		}
		list[i].To, list[i].Lost = l.To, list[i].Lost+l.Lost
	}
	return list
}

// why says why requests are lost.
func why(l *history.Loss) string {
	router, pod := l.Record.Object.Loss.Router, trace.PodName(l.Pod)
	at := " at " + trace.FormatTime(l.From)
	if l.To > l.From {
		at = " from " + trace.FormatTime(l.From) + " to " + trace.FormatTime(l.To)
	}
	switch l.Record.Reason {
	case traffic.NoEndpoints:
		return router + " has no target" + at
	case traffic.InFlight:
		return pod + " exits with them in flight" + at
	case traffic.Refused:
		return pod + " refuses them, and " + router + " still sends it some" + at
	case traffic.NotListening:
		return pod + " does not listen, and " + router + " sends it some" + at
	}
	return pod + " has exited, and " + router + " still sends it some" + at
}

// round returns a number of requests with one digit after the point, if it is not whole.
func round(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") }
