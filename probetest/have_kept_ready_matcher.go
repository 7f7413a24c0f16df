package probetest

import (
	"errors"
	"fmt"

	"probesim.dev/trace"
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
