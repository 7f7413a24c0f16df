package why

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// hasStarted reports whether the startup probe of an instance has succeeded by now.
func (m *moment) hasStarted(c *v1.Container, start *trace.Record) bool {
	p := m.lastProbe(c.Name, trace.Startup)
	return p != nil && p.Instance == start.Instance && succeeded(p)
}

// lastProbe returns the last run of a probe that counts, up to now, or nil.
func (m *moment) lastProbe(container string, kind trace.Probe) *trace.Record {
	for _, p := range slices.Backward(m.probes[probe{subject{m.pod, container}, kind}]) {
		if p.T <= m.t && p.Result != trace.Error {
			return p
		}
	}
	return nil
}

// notReady says why a running container is not ready, or is about to be stopped for its liveness probe.
func (m *moment) notReady(c *v1.Container, start *trace.Record) string {
	text := m.failing(c, start, trace.Liveness, c.LivenessProbe)
	if c.StartupProbe != nil && !m.hasStarted(c, start) {
		return text + m.notStarted(c, start)
	}
	if c.ReadinessProbe == nil {
		return text
	}
	last := m.lastProbe(c.Name, trace.Readiness)
	delay := start.T + time.Duration(c.ReadinessProbe.InitialDelaySeconds)*time.Second
	switch {
	case (last == nil || last.Instance != start.Instance) && m.t < delay:
		return text + fmt.Sprintf("; readiness is not probed before %s, for initialDelaySeconds is %d", at(delay), c.ReadinessProbe.InitialDelaySeconds)
	case last == nil || last.Instance != start.Instance:
		return text + "; readiness has not been probed yet"
	}
	return text + m.failing(c, start, trace.Readiness, c.ReadinessProbe) + m.succeeding(last, c.ReadinessProbe)
}

// notStarted says how far an instance has come whose startup probe has not succeeded.
func (m *moment) notStarted(c *v1.Container, start *trace.Record) string {
	text := fmt.Sprintf("; startup has not succeeded: %s of %d", plural(m.failures(c.Name, start, trace.Startup), "failure"), c.StartupProbe.FailureThreshold)
	if c.LivenessProbe != nil || c.ReadinessProbe != nil {
		text += ", and until then no other probe is made"
	}
	return text
}

// failures counts how often a probe of an instance has failed in a row by now.
func (m *moment) failures(container string, start *trace.Record, kind trace.Probe) int {
	n := 0
	for _, p := range slices.Backward(m.probes[probe{subject{m.pod, container}, kind}]) {
		if p.T > m.t || p.Result == trace.Error {
			continue
		}
		if p.Instance != start.Instance || succeeded(p) {
			break
		}
		n++
	}
	return n
}

// failing says how often a probe has failed in a row, if it has.
func (m *moment) failing(c *v1.Container, start *trace.Record, kind trace.Probe, spec *v1.Probe) string {
	n := m.failures(c.Name, start, kind)
	if spec == nil || n == 0 {
		return ""
	}
	last := m.lastProbe(c.Name, kind)
	runs, before := m.streak(last, n)
	text := fmt.Sprintf("; %s has failed since %s: %s, failureThreshold %d", kind, at(runs[0].T), inARow(n), spec.FailureThreshold)
	if before != nil && before.Instance == start.Instance {
		text += ", the last success at " + at(before.T)
	}
	return text
}

func inARow(n int) string {
	if n == 1 {
		return "one failure"
	}
	return plural(n, "failure") + " in a row"
}

// succeeding says that a probe succeeds, but not often enough yet.
func (m *moment) succeeding(last *trace.Record, spec *v1.Probe) string {
	if !succeeded(last) {
		return ""
	}
	n := int(spec.SuccessThreshold)
	if runs, before := m.streak(last, n); len(runs) < n && before != nil {
		return fmt.Sprintf("; readiness has succeeded %s, successThreshold %d", times(runs), n)
	}
	return fmt.Sprintf("; readiness succeeded last at %s", at(last.T))
}
