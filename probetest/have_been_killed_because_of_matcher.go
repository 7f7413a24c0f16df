package probetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveBeenKilledBecauseOf succeeds if the container, or a container of the pod, was stopped for a reason. The
// reasons of the kubelet are LivenessProbe, StartupProbe, FailedPostStartHook, ImageChanged, Resized,
// RestartAllContainers, Deleted, Evicted and Stopped (the pod or its sandbox ended); they count when the
// kubelet sends the stop signal. A kill from outside has the reason OOMKilled, or the reason given to
// node.KillContainer.
//
//	Expect(web.Container("app")).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1).Within(2 * time.Minute))
//
// Any other reason is an error, even with NotTo.
func HaveBeenKilledBecauseOf(reason string) *HaveBeenKilledBecauseOfMatcher {
	return &HaveBeenKilledBecauseOfMatcher{reason: reason}
}

// HaveBeenKilledBecauseOfMatcher is the type of HaveBeenKilledBecauseOf. The zero value has no reason, which
// is an error.
type HaveBeenKilledBecauseOfMatcher struct {
	settled
	occurrences
	reason string
}

// stopReasons are the reasons of ContainerStopping records and the usual reason of a kill from outside.
var stopReasons = append(match.ReasonsOf(trace.ContainerStopping), "OOMKilled")

// Times sets the exact number of kills that the matcher expects. Times(0) expects none.
func (m *HaveBeenKilledBecauseOfMatcher) Times(n int) *HaveBeenKilledBecauseOfMatcher {
	m.setTimes(n)
	return m
}

// AtLeast sets the minimum number of kills that the matcher expects, 1 or more.
func (m *HaveBeenKilledBecauseOfMatcher) AtLeast(n int) *HaveBeenKilledBecauseOfMatcher {
	m.setAtLeast(n)
	return m
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (m *HaveBeenKilledBecauseOfMatcher) Within(d time.Duration) *HaveBeenKilledBecauseOfMatcher {
	m.setWithin(d)
	return m
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the addition of
// the pod.
func (m *HaveBeenKilledBecauseOfMatcher) Between(from, until time.Duration) *HaveBeenKilledBecauseOfMatcher {
	m.setBetween(from, until)
	return m
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (m *HaveBeenKilledBecauseOfMatcher) After(d time.Duration) *HaveBeenKilledBecauseOfMatcher {
	m.setAfter(d)
	return m
}

// Match examines a *Pod or a *Container. It implements gomega.OmegaMatcher, as FailureMessage and
// NegatedFailureMessage do.
func (m *HaveBeenKilledBecauseOfMatcher) Match(actual any) (bool, error) {
	return matched("HaveBeenKilledBecauseOf", m == nil, m.match, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveBeenKilledBecauseOfMatcher) FailureMessage(any) string {
	return m.message("to have been killed because of " + m.reason)
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveBeenKilledBecauseOfMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been killed because of " + m.reason)
}

func (m *HaveBeenKilledBecauseOfMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err != nil {
		return false, err
	}
	killed := s.records(func(r *trace.Record) bool {
		return r.Kind == trace.ContainerStopping && r.Reason == m.reason || r.Kind == trace.Step && r.Reason == "kill" && r.Message == m.reason
	})
	if len(killed) == 0 && !slices.Contains(stopReasons, m.reason) {
		return false, fmt.Errorf("no container is ever killed because of %q%s; the reasons are %s",
			m.reason, strict.DidYouMean(m.reason, stopReasons), strings.Join(stopReasons, ", "))
	}
	if needed := map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}[m.reason]; needed != "" && !slices.Contains(s.probes(), needed) {
		return false, fmt.Errorf("%s has no %s probe", s, needed)
	}
	return m.check(s, killed)
}
