package why

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// hasStarted reports whether the startup probe of an instance has succeeded.
func (m *moment) hasStarted(c *v1.Container, start *trace.Record) bool {
	p := m.lastProbe(c.Name, trace.Startup)
	return p != nil && p.Instance == start.Instance && succeeded(p)
}

// lastProbe returns the last run of a probe other than errors, or nil.
func (m *moment) lastProbe(container string, kind trace.Probe) *trace.Record {
	for _, p := range slices.Backward(m.probes[probe{subject{m.pod, container}, kind}]) {
		if p.T <= m.t && p.Result != trace.Error {
			return p
		}
	}
	return nil
}

// probeStates says which probes of a running container fail, have not succeeded or have not run.
func (m *moment) probeStates(c *v1.Container, start *trace.Record) string {
	text := m.failingProbe(c, start, trace.Liveness, c.LivenessProbe) + m.brokenProbe(c, start, trace.Liveness)
	if c.StartupProbe != nil && !m.hasStarted(c, start) {
		return text + m.brokenProbe(c, start, trace.Startup) + m.startupState(c, start)
	}
	if c.ReadinessProbe == nil {
		return text
	}
	text += m.brokenProbe(c, start, trace.Readiness)
	last := m.lastProbe(c.Name, trace.Readiness)
	delay := start.T.Add(time.Duration(c.ReadinessProbe.InitialDelaySeconds) * time.Second)
	switch {
	case (last == nil || last.Instance != start.Instance) && m.t < delay:
		return text + fmt.Sprintf("; its readiness probe does not run before %s (initialDelaySeconds %d)", m.at(delay), c.ReadinessProbe.InitialDelaySeconds)
	case (last == nil || last.Instance != start.Instance) && len(m.errors(c, start, trace.Readiness)) > 0:
		return text
	case last == nil || last.Instance != start.Instance:
		return text + "; its readiness probe has not run yet"
	}
	return text + m.failingProbe(c, start, trace.Readiness, c.ReadinessProbe) + m.readinessSuccess(last, c.ReadinessProbe)
}

// startupState describes a startup probe that has not succeeded yet.
func (m *moment) startupState(c *v1.Container, start *trace.Record) string {
	text := fmt.Sprintf("; its startup probe has not succeeded yet (%s, failureThreshold %d)", plural(m.failures(c.Name, start, trace.Startup), "failure"), c.StartupProbe.FailureThreshold)
	if c.LivenessProbe != nil || c.ReadinessProbe != nil {
		text += ", so its other probes do not run"
	}
	return text
}

// failures counts the consecutive failures of a probe of an instance.
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

// errors returns the last consecutive runs of a probe of an instance that ended with an error, newest first.
func (m *moment) errors(c *v1.Container, start *trace.Record, kind trace.Probe) []*trace.Record {
	var runs []*trace.Record
	for _, p := range slices.Backward(m.probes[probe{subject{m.pod, c.Name}, kind}]) {
		if p.T > m.t {
			continue
		}
		if p.Instance != start.Instance || p.Result != trace.Error {
			break
		}
		runs = append(runs, p)
	}
	return runs
}

// brokenProbe says how often in a row a probe has ended with an error, if its last run did.
func (m *moment) brokenProbe(c *v1.Container, start *trace.Record, kind trace.Probe) string {
	runs := m.errors(c, start, kind)
	switch len(runs) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; its %s probe ended with an error at %s, which the kubelet ignores%s", kind, m.at(runs[0].T), quotedMessage(runs[0]))
	}
	return fmt.Sprintf("; its %s probe has ended with an error since %s (%s times in a row), which the kubelet ignores%s",
		kind, m.at(runs[len(runs)-1].T), number(len(runs)), quotedMessage(runs[0]))
}

// failingProbe says how often a probe has failed in a row, if it fails.
func (m *moment) failingProbe(c *v1.Container, start *trace.Record, kind trace.Probe, spec *v1.Probe) string {
	n := m.failures(c.Name, start, kind)
	if spec == nil || n == 0 {
		return ""
	}
	last := m.lastProbe(c.Name, kind)
	runs, before := m.streak(last, n)
	text := fmt.Sprintf("; its %s probe failed at %s (failureThreshold %d", kind, m.at(runs[0].T), spec.FailureThreshold)
	if n > 1 {
		text = fmt.Sprintf("; its %s probe has failed since %s (%s in a row, failureThreshold %d", kind, m.at(runs[0].T), plural(n, "failure"), spec.FailureThreshold)
	}
	if before != nil && before.Instance == start.Instance {
		text += ", last success at " + m.at(before.T)
	}
	return text + ")"
}

// readinessSuccess describes a readiness probe whose last run succeeded.
func (m *moment) readinessSuccess(last *trace.Record, spec *v1.Probe) string {
	if !succeeded(last) {
		return ""
	}
	n := int(spec.SuccessThreshold)
	if runs, before := m.streak(last, n); len(runs) < n && before != nil {
		return fmt.Sprintf("; its readiness probe has succeeded %s (successThreshold %d)", m.times(runs), n)
	}
	return fmt.Sprintf("; its readiness probe last succeeded at %s", m.at(last.T))
}
