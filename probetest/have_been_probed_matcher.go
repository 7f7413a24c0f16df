package probetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// HaveBeenProbed succeeds if a probe of the container, or of a container of the pod, ran:
// trace.Liveness, trace.Readiness or trace.Startup. A run counts at the time when it began.
//
//	Expect(web).To(HaveBeenProbed(trace.Liveness).At(10*time.Second, 20*time.Second))
//	Expect(web).To(HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(3).
//		Between(time.Minute, 2*time.Minute))
//
// A probe that the subject does not have is an error, even with NotTo.
func HaveBeenProbed(probe trace.Probe) *HaveBeenProbedMatcher {
	m := &HaveBeenProbedMatcher{probe: probe}
	m.function, m.judge, m.whole = "HaveBeenProbed", m, m
	return m
}

// HaveBeenProbedMatcher is the type of HaveBeenProbed.
type HaveBeenProbedMatcher struct {
	counted[HaveBeenProbedMatcher]
	probe  trace.Probe
	result *trace.Result // nil: any
	at     []any         // durations and matchers
	atSet  bool
}

// At requires a run at each of these times, which count from the addition of the pod. Other runs
// may happen too. Each time is a time.Duration, compared to the millisecond, or a Gomega matcher of
// a time.Duration.
func (m *HaveBeenProbedMatcher) At(times ...any) *HaveBeenProbedMatcher {
	m.at, m.atSet = times, true
	return m
}

// WithResult limits the matcher to runs with a result: trace.Success, trace.Failure, trace.Warning
// or trace.Error. Any other result is an error.
func (m *HaveBeenProbedMatcher) WithResult(r trace.Result) *HaveBeenProbedMatcher {
	m.result = &r
	return m
}

func (m *HaveBeenProbedMatcher) expected(to string) string {
	text := to + "have been probed for " + string(m.probe)
	if m.result != nil {
		text += " with the result " + string(*m.result)
	}
	if len(m.at) > 0 {
		text += " at " + listOf(m.at, timeText) + " after the pod was added"
	}
	return text + m.expectation()
}

func (m *HaveBeenProbedMatcher) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.possible(s)
	}
	if err != nil {
		return false, nil, err
	}
	runs := s.records(func(r *trace.Record) bool { return r.Kind == trace.ProbeExecuted && r.Probe == m.probe })
	for i := range runs {
		r := s.record(runs[i].record)
		runs[i].t = runs[i].t.Add(-r.Took)
		if m.result != nil && r.Result != *m.result {
			runs[i].miss = "the result " + string(r.Result)
		}
	}
	ok, inside, found, err := m.check(s, runs)
	if err != nil {
		return false, nil, err
	}
	hit, err := hitsAll(m.at, inside, s.added())
	return ok && hit, found, err
}

// possible returns an error if no run of a probe can match.
func (m *HaveBeenProbedMatcher) possible(s *subject) error {
	if results := []string{string(trace.Success), string(trace.Failure), string(trace.Warning),
		string(trace.Error)}; m.result != nil && !slices.Contains(results, string(*m.result)) {
		return fmt.Errorf("a probe never has the result %q%s", *m.result, strict.DidYouMean(string(*m.result), results))
	}
	probes := []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup)}
	switch {
	case m.probe == "":
		return errors.New("the probe is missing: give trace.Liveness, trace.Readiness or trace.Startup")
	case !slices.Contains(probes, string(m.probe)):
		return fmt.Errorf("there is no %s probe%s", m.probe, strict.DidYouMean(string(m.probe), probes))
	case !slices.Contains(s.probes(), m.probe):
		return fmt.Errorf("%s has no %s probe", s, m.probe)
	case m.atSet && len(m.at) == 0:
		return errors.New("At has no times: give one or more")
	case m.atSet && m.most != nil && *m.most < 1:
		return errors.New("At requires a run, and Times(0) requires none: use one of them")
	}
	from, to, err := m.span(s)
	if err != nil {
		return err
	}
	for _, t := range m.at {
		if err := possibleTime(s, t); err != nil {
			return err
		}
		if d, ok := t.(time.Duration); ok && (s.added().Add(d) < from || s.added().Add(d) > to) {
			return fmt.Errorf("the time %s is outside of the window%s", value.Format(d), m.window.words())
		}
	}
	return nil
}

// probes returns the types of probes that the container, or a container of the pod, has.
func (s *subject) probes() []trace.Probe {
	var list []trace.Probe
	for _, name := range s.pod.containers() {
		if s.container != "" && s.container != name {
			continue
		}
		for _, p := range trace.ProbeTypes {
			if prober.ProbeOf(podutil.Find(s.pod.Object, name), p) != nil {
				list = append(list, p)
			}
		}
	}
	return list
}

// hitsAll reports whether an occurrence matches each of the times.
func hitsAll(times []any, all []occurrence, added virtual.Time) (bool, error) {
	for _, expected := range times {
		hit := false
		for _, it := range all {
			ok, err := matchesTime(expected, it.t.Sub(added))
			if err != nil {
				return false, err
			}
			hit = hit || ok
		}
		if !hit {
			return false, nil
		}
	}
	return true, nil
}
