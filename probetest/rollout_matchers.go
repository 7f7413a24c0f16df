package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// HaveKeptReady succeeds if at least so many pods of a *Deployment were Ready all the time, from
// the first time on at which so many were: readyReplicas in its status never fell below.
//
//	Expect(web).To(HaveKeptReady(3))
func HaveKeptReady(pods int) *HaveKeptReadyMatcher {
	m := &HaveKeptReadyMatcher{pods: pods}
	m.function, m.judge = "HaveKeptReady", m
	return m
}

// HaveKeptReadyMatcher is the type of HaveKeptReady.
type HaveKeptReadyMatcher struct {
	matcher
	pods int
}

func (m *HaveKeptReadyMatcher) expected(to string) string {
	if m.pods == 1 {
		return to + "have kept 1 pod Ready"
	}
	return fmt.Sprintf("%shave kept %d pods Ready", to, m.pods)
}

func (m *HaveKeptReadyMatcher) examine(actual any) (bool, *finding, error) {
	d, states, err := deploymentOf(actual)
	if err != nil {
		return false, nil, err
	}
	if m.pods < 1 {
		return false, nil, errors.New("HaveKeptReady(0) holds for every run: use 1 or more")
	}
	var since *state    // from which on so many are Ready; nil: never
	fewest := states[0] // after that, or the most if they never were
	for _, s := range states {
		switch ready := int(s.Ready); {
		case since == nil && ready >= m.pods:
			since, fewest = &s, s
		case since == nil && s.Ready > fewest.Ready, since != nil && s.Ready < fewest.Ready:
			fewest = s
		}
	}
	at := trace.FormatTime(fewest.t)
	var got string
	switch {
	case since == nil:
		got = fmt.Sprintf("So many never were: the most were %d, at %s", fewest.Ready, at)
	case fewest.t == since.t:
		got = fmt.Sprintf("At least %d were, from %s on", fewest.Ready, at)
	default:
		got = fmt.Sprintf("From %s on, the fewest were %d, at %s", trace.FormatTime(since.t), fewest.Ready, at)
	}
	return int(fewest.Ready) >= m.pods, d.finding(got, fewest.t, []int{fewest.record}), nil
}

// HaveRolledOutWithin succeeds if the last change of the spec of a *Deployment, or its creation, is
// complete within a time after it: all replicas have the new template and are available, and none
// has an old one, as 'kubectl rollout status' waits for.
//
//	web.Restart()
//	n.Advance(5 * time.Minute)
//	Expect(web).To(HaveRolledOutWithin(2 * time.Minute))
func HaveRolledOutWithin(d time.Duration) *HaveRolledOutWithinMatcher {
	m := &HaveRolledOutWithinMatcher{within: d}
	m.function, m.judge = "HaveRolledOutWithin", m
	return m
}

// HaveRolledOutWithinMatcher is the type of HaveRolledOutWithin.
type HaveRolledOutWithinMatcher struct {
	matcher
	within time.Duration
}

func (m *HaveRolledOutWithinMatcher) expected(to string) string {
	return to + "have rolled out within " + value.Format(m.within)
}

func (m *HaveRolledOutWithinMatcher) examine(actual any) (bool, *finding, error) {
	d, states, err := deploymentOf(actual)
	if err != nil {
		return false, nil, err
	}
	var r rollout
	for _, s := range states {
		switch {
		case r.change.Workload == nil || s.Generation != r.change.Generation:
			r = rollout{s, s}
		case !r.complete():
			r.last = s
		}
	}
	due := r.change.t.Add(min(m.within, MaxTime))
	center := r.last.t
	if !r.complete() {
		if due > d.log.end {
			return false, nil, fmt.Errorf("the time ends %s after the change, at %s, but the run has only reached %s%s",
				value.Format(m.within), trace.FormatTime(due), trace.FormatTime(d.log.end), d.node.more())
		}
		center = due
	}
	return r.complete() && r.last.t <= due, d.finding(r.describe(d), center, []int{r.change.record, r.last.record}), nil
}

// rollout is the last rollout of a Deployment.
type rollout struct {
	change state // that began it
	last   state // the first complete state after it, or the last one
}

func (r *rollout) complete() bool {
	return r.last.Generation == r.change.Generation && r.last.Complete()
}

// describe says how long the rollout took, or where it stands.
func (r *rollout) describe(d *Deployment) string {
	began := "the change at " + trace.FormatTime(r.change.t)
	w := r.last.Workload
	if r.complete() {
		took := value.Format(r.last.t.Sub(r.change.t))
		return fmt.Sprintf("It was complete %s after %s, at %s", took, began, trace.FormatTime(r.last.t))
	}
	text := fmt.Sprintf("It is not complete after %s: %d replicas, %d updated, %d Ready, %d available, %d old",
		began, w.Desired, w.Updated, w.Ready, w.Available, w.Replicas-w.Updated)
	if c := w.Condition("Progressing"); c.Reason != "" {
		text += "; Progressing is " + c.Status + " (" + c.Reason + ")"
	}
	if names := d.unready(); names != "" {
		text += "; not Ready: " + names
	}
	return text
}

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
