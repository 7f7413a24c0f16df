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
func HaveKeptReady(pods int) *HaveKeptReadyMatcher { return &HaveKeptReadyMatcher{pods: pods} }

// HaveKeptReadyMatcher is the type of HaveKeptReady.
type HaveKeptReadyMatcher struct {
	settled
	pods int

	deployment *Deployment // of the last Match
	since      *state      // from which on so many are Ready; nil: never
	fewest     state       // after that, or the most if they never were
}

// Match examines a *Deployment. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveKeptReadyMatcher) Match(actual any) (bool, error) {
	return matched("HaveKeptReady", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveKeptReadyMatcher) FailureMessage(any) string { return m.message("to have ") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveKeptReadyMatcher) NegatedFailureMessage(any) string { return m.message("not to have ") }

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *HaveKeptReadyMatcher) GomegaString() string {
	if m.deployment == nil {
		return "have " + m.expectation()
	}
	return "have " + m.expectation() + "; the last one examined is " + m.deployment.String() + ": " + m.happened()
}

func (m *HaveKeptReadyMatcher) match(actual any) (bool, error) {
	d, states, err := m.deploymentOf(actual)
	if err != nil {
		return false, err
	}
	if m.pods < 1 {
		return false, errors.New("HaveKeptReady(0) holds for every run: use 1 or more")
	}
	m.deployment, m.since, m.fewest = d, nil, states[0]
	for _, s := range states {
		switch ready := int(s.Ready); {
		case m.since == nil && ready >= m.pods:
			m.since, m.fewest = &s, s
		case m.since == nil && s.Ready > m.fewest.Ready, m.since != nil && s.Ready < m.fewest.Ready:
			m.fewest = s
		}
	}
	return int(m.fewest.Ready) >= m.pods, nil
}

func (m *HaveKeptReadyMatcher) expectation() string {
	if m.pods == 1 {
		return "kept 1 pod Ready"
	}
	return fmt.Sprintf("kept %d pods Ready", m.pods)
}

func (m *HaveKeptReadyMatcher) message(expected string) string {
	if m.deployment == nil {
		return expected + m.expectation() + ": the matcher has not examined anything yet"
	}
	return m.deployment.message(expected+m.expectation(), m.happened()+".", []int{m.fewest.record}, m.fewest.t)
}

// happened says how few pods were Ready, and when.
func (m *HaveKeptReadyMatcher) happened() string {
	at := trace.FormatTime(m.fewest.t)
	switch {
	case m.since == nil:
		return fmt.Sprintf("So many never were: the most were %d, at %s", m.fewest.Ready, at)
	case m.fewest.t == m.since.t:
		return fmt.Sprintf("At least %d were, from %s on", m.fewest.Ready, at)
	}
	return fmt.Sprintf("From %s on, the fewest were %d, at %s", trace.FormatTime(m.since.t), m.fewest.Ready, at)
}
