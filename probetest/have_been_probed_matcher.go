package probetest

import (
	"fmt"

	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// HaveBeenProbed succeeds if a probe of the container, or of one of the pod, has run: trace.Liveness, trace.Readiness or
// trace.Startup. A run counts when it begins.
//
//	Expect(web).To(HaveBeenProbed(trace.Liveness).At(10*time.Second, 20*time.Second))
//	Expect(web).To(HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(3).Between(time.Minute, 2*time.Minute))
func HaveBeenProbed(probe trace.Probe) *HaveBeenProbedMatcher {
	m := &HaveBeenProbedMatcher{probe: probe}
	m.matcher = m
	return m
}

// HaveBeenProbedMatcher is what HaveBeenProbed returns; its methods narrow it down.
type HaveBeenProbedMatcher struct {
	static
	Happens[HaveBeenProbedMatcher]

	probe  trace.Probe
	result trace.Result // empty: any
	at     []any        // durations and matchers
	missed []any        // of at, in the last Match
}

// At has the matcher look for runs that began at these virtual times, of which there may be more: each a time.Duration,
// which is compared to the millisecond, or a matcher of Gomega for one.
func (m *HaveBeenProbedMatcher) At(times ...any) *HaveBeenProbedMatcher {
	m.at = times
	return m
}

// WithResult has the matcher look for runs with a result: trace.Success, trace.Failure, trace.Warning or trace.Error.
func (m *HaveBeenProbedMatcher) WithResult(r trace.Result) *HaveBeenProbedMatcher {
	m.result = r
	return m
}

// hasProbe refuses a probe that there is none of.
func (m *HaveBeenProbedMatcher) hasProbe(s *subject) error {
	for _, name := range s.pod.containers() {
		c := podutil.Find(s.pod.Object, name)
		has := map[trace.Probe]bool{
			trace.Liveness: c.LivenessProbe != nil, trace.Readiness: c.ReadinessProbe != nil, trace.Startup: c.StartupProbe != nil,
		}
		if (s.container == "" || s.container == name) && has[m.probe] {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s probe", s, m.probe)
}

// notAt returns the times at which nothing happened.
func notAt(times []any, inside []happening) ([]any, error) {
	var missed []any
	for _, expected := range times {
		hit := false
		for _, it := range inside {
			ok, err := matchesTime(expected, it.t)
			if err != nil {
				return nil, err
			}
			hit = hit || ok
		}
		if !hit {
			missed = append(missed, expected)
		}
	}
	return missed, nil
}

func (m *HaveBeenProbedMatcher) what() string {
	text := string(m.probe)
	if m.result != "" {
		text += " with the result " + string(m.result)
	}
	if len(m.at) > 0 {
		text += " at " + listOf(m.at, timeText)
	}
	return text
}

func (m *HaveBeenProbedMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.hasProbe(s)
	}
	if err != nil {
		return false, named("HaveBeenProbed", err)
	}
	runs := s.records(func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Probe == m.probe && (m.result == "" || r.Result == m.result)
	})
	for i := range runs {
		runs[i].t -= s.record(runs[i].record).Took
	}
	ok, err := m.look(s, runs)
	if err != nil {
		return false, named("HaveBeenProbed", err)
	}
	if m.missed, err = notAt(m.at, m.inside); err != nil {
		return false, named("HaveBeenProbed", err)
	}
	return ok && len(m.missed) == 0, nil
}

func (m *HaveBeenProbedMatcher) FailureMessage(any) string {
	return m.message("to have been probed for " + m.what())
}

func (m *HaveBeenProbedMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been probed for " + m.what())
}
