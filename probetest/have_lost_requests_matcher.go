package probetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/gomegacall"
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
	m := &HaveLostRequestsMatcher{number: number}
	m.function, m.judge = "HaveLostRequests", m
	return m
}

// HaveLostRequestsMatcher is the type of HaveLostRequests.
type HaveLostRequestsMatcher struct {
	matcher
	number any
}

func (m *HaveLostRequestsMatcher) examine(actual any) (bool, *finding, error) {
	s, ok := actual.(*Service)
	switch {
	case !ok:
		return false, nil, fmt.Errorf("expected a *probetest.Service, got a %T", actual)
	case s == nil:
		return false, nil, errNoObject
	}
	if err := s.examine(); err != nil {
		return false, nil, err
	}
	switch {
	case len(s.streams) == 0:
		return false, nil, fmt.Errorf("no requests are sent to the %s: give AddService some Requests", s)
	case s.sent() == 0:
		return false, nil, fmt.Errorf("no request has been sent to the %s yet%s", s, s.node.more())
	}
	lost := s.LostRequests()
	switch n := m.number.(type) {
	case int:
		if n == 0 {
			return lost < 1e-6, s.lossFinding(), nil
		}
		return n == int(math.Round(lost)), s.lossFinding(), nil
	case types.GomegaMatcher:
		if isNilMatcher(n) {
			return false, nil, fmt.Errorf("the matcher of the number is nil")
		}
		ok, err := n.Match(lost)
		return ok, s.lossFinding(), err
	}
	return false, nil, fmt.Errorf("the number must be an int or a matcher, not a %T", m.number)
}

func (m *HaveLostRequestsMatcher) expected(to string) string {
	switch n := m.number.(type) {
	case int:
		return fmt.Sprintf("%shave lost %d requests", to, n)
	case types.GomegaMatcher:
		return to + "have lost a number of requests that matches " + gomegacall.Of(n)
	}
	return fmt.Sprintf("%shave lost %v requests", to, m.number)
}

// lossFinding describes how many requests are lost, of which pods, why and when.
func (s *Service) lossFinding() *finding {
	var marks []int
	var pods []string
	losses := s.losses()
	center := s.log.end
	for _, l := range losses {
		center = min(center, l.From)
	}
	for _, l := range losses {
		if i := slices.IndexFunc(s.log.records, func(r trace.Record) bool { return r.Step == l.Record.Step }); i >= 0 {
			marks = append(marks, i)
		}
		if l.From == center {
			pods = append(pods, l.Pod)
		}
	}
	if len(losses) == 0 {
		return s.finding(fmt.Sprintf("None of %.0f requests is lost", s.sent()), center, marks, pods...)
	}
	losses = joined(losses)
	text := fmt.Sprintf("%s of %.0f requests are lost, the first at %s:",
		round(s.LostRequests()), s.sent(), trace.FormatTime(losses[0].From))
	for i, l := range losses {
		if i == maxTimes {
			text += fmt.Sprintf("\n    and %d more", len(losses)-maxTimes)
			break
		}
		text += fmt.Sprintf("\n    %s: %s", round(l.Lost), why(&l))
	}
	return s.finding(text, center, marks, pods...)
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
