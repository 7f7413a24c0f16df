package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// HaveRolledOutWithin succeeds if the last change of the spec of a *Deployment, or its creation, is
// complete within a time after it: all replicas have the new template and are available, and none
// has an old one, as 'kubectl rollout status' waits for.
//
//	web.Restart()
//	n.Advance(5 * time.Minute)
//	Expect(web).To(HaveRolledOutWithin(2 * time.Minute))
func HaveRolledOutWithin(d time.Duration) *HaveRolledOutWithinMatcher {
	return &HaveRolledOutWithinMatcher{within: d}
}

// HaveRolledOutWithinMatcher is the type of HaveRolledOutWithin.
type HaveRolledOutWithinMatcher struct {
	settled
	within time.Duration

	deployment *Deployment // of the last Match
	change     state       // that began the rollout
	last       state       // the first complete state after it, or the last one
}

// Match examines a *Deployment. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveRolledOutWithinMatcher) Match(actual any) (bool, error) {
	return matched("HaveRolledOutWithin", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveRolledOutWithinMatcher) FailureMessage(any) string { return m.message("to have ") }

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveRolledOutWithinMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have ")
}

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *HaveRolledOutWithinMatcher) GomegaString() string {
	if m.deployment == nil {
		return "have " + m.expectation()
	}
	return "have " + m.expectation() + "; the last one examined is " + m.deployment.String() + ": " + m.happened()
}

func (m *HaveRolledOutWithinMatcher) match(actual any) (bool, error) {
	d, states, err := m.deploymentOf(actual)
	if err != nil {
		return false, err
	}
	m.deployment, m.change = d, states[0]
	for _, s := range states {
		switch {
		case s.Generation != m.change.Generation:
			m.change, m.last = s, s
		case !m.complete():
			m.last = s
		}
	}
	due := m.change.t.Add(min(m.within, MaxTime))
	if !m.complete() && due > d.log.end {
		return false, fmt.Errorf("the time ends %s after the change, at %s, but the run has only reached %s%s",
			value.Format(m.within), trace.FormatTime(due), trace.FormatTime(d.log.end), d.node.more())
	}
	return m.complete() && m.last.t <= due, nil
}

// complete reports whether the rollout is complete.
func (m *HaveRolledOutWithinMatcher) complete() bool {
	return m.last.Workload != nil && m.last.Generation == m.change.Generation && m.last.Complete()
}

func (m *HaveRolledOutWithinMatcher) expectation() string {
	return "rolled out within " + value.Format(m.within)
}

func (m *HaveRolledOutWithinMatcher) message(expected string) string {
	if m.deployment == nil {
		return expected + m.expectation() + ": the matcher has not examined anything yet"
	}
	center := m.last.t
	if !m.complete() {
		center = min(m.deployment.log.end, m.change.t.Add(m.within))
	}
	return m.deployment.message(expected+m.expectation(), m.happened()+".", []int{m.change.record, m.last.record},
		center)
}

// happened says how long the rollout took, or where it stands.
func (m *HaveRolledOutWithinMatcher) happened() string {
	began := "the change at " + trace.FormatTime(m.change.t)
	if m.complete() {
		return fmt.Sprintf("It was complete %s after %s, at %s", value.Format(m.last.t.Sub(m.change.t)), began,
			trace.FormatTime(m.last.t))
	}
	w := m.last.Workload
	text := fmt.Sprintf("It is not complete after %s: %d replicas, %d updated, %d Ready, %d available, %d old",
		began, w.Desired, w.Updated, w.Ready, w.Available, w.Replicas-w.Updated)
	if c := w.Condition("Progressing"); c.Reason != "" {
		text += "; Progressing is " + c.Status + " (" + c.Reason + ")"
	}
	if names := m.deployment.unready(); names != "" {
		text += "; not Ready: " + names
	}
	return text
}
