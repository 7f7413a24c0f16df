package probetest

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveBeenKilledBecauseOf succeeds if the container, or one of the pod, has been stopped for a reason: LivenessProbe,
// StartupProbe, FailedPostStartHook, ImageChanged, Deleted, Evicted or Stopped (the pod or its sandbox has ended), when the
// stop signal is sent; or that with which it was killed from outside, such as OOMKilled.
//
//	Expect(web.Container("app")).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1).Within(2 * time.Minute))
func HaveBeenKilledBecauseOf(reason string) *HaveBeenKilledBecauseOfMatcher {
	m := &HaveBeenKilledBecauseOfMatcher{reason: reason}
	m.matcher = m
	return m
}

// HaveBeenKilledBecauseOfMatcher is what HaveBeenKilledBecauseOf returns; its methods narrow it down.
type HaveBeenKilledBecauseOfMatcher struct {
	static
	Happens[HaveBeenKilledBecauseOfMatcher]

	reason string
}

// stopReasons are the reasons of ContainerStopping records, and the usual one of a kill from outside.
var stopReasons = append(match.ReasonsOf(trace.ContainerStopping), "OOMKilled")

func (m *HaveBeenKilledBecauseOfMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveBeenKilledBecauseOf", err)
	}
	killed := s.records(func(r *trace.Record) bool {
		return r.Kind == trace.ContainerStopping && r.Reason == m.reason || r.Kind == trace.Step && r.Reason == "kill" && r.Message == m.reason
	})
	if len(killed) == 0 && !slices.Contains(stopReasons, m.reason) {
		return false, fmt.Errorf("HaveBeenKilledBecauseOf: nothing was killed because of %q; the kubelet stops containers because of %s",
			m.reason, strings.Join(stopReasons, ", "))
	}
	ok, err := m.look(s, killed)
	return ok, named("HaveBeenKilledBecauseOf", err)
}

func (m *HaveBeenKilledBecauseOfMatcher) FailureMessage(any) string {
	return m.message("to have been killed because of " + m.reason)
}

func (m *HaveBeenKilledBecauseOfMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been killed because of " + m.reason)
}
