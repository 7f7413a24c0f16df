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
	if m.probesChanged(m.pod, m.t) {
		return ""
	}
	text := m.failingProbe(c, start, trace.Liveness, c.LivenessProbe) + m.brokenProbe(c, start, trace.Liveness) +
		m.openProbe(c, start, trace.Liveness)
	if c.StartupProbe != nil && !m.hasStarted(c, start) {
		return text + m.openProbe(c, start, trace.Startup) + m.brokenProbe(c, start, trace.Startup) +
			m.startupState(c, start)
	}
	if c.ReadinessProbe == nil {
		return text
	}
	text += m.brokenProbe(c, start, trace.Readiness) + m.openProbe(c, start, trace.Readiness)
	last, next := m.lastProbe(c.Name, trace.Readiness), m.nextRun(c, start, trace.Readiness, c.ReadinessProbe)
	delay := start.T.Add(time.Duration(c.ReadinessProbe.InitialDelaySeconds) * time.Second)
	switch {
	case (last == nil || last.Instance != start.Instance) && m.t < delay:
		return text + fmt.Sprintf("; its readiness probe does not run before %s (initialDelaySeconds %d)", m.at(delay),
			c.ReadinessProbe.InitialDelaySeconds) + next
	case (last == nil || last.Instance != start.Instance) && len(m.errors(c, start, trace.Readiness)) > 0:
		return text
	case last == nil || last.Instance != start.Instance:
		return text + "; its readiness probe has not run yet" + next
	case succeeded(last):
		return text + m.readinessSuccess(last, c.ReadinessProbe)
	}
	return text + m.failingProbe(c, start, trace.Readiness, c.ReadinessProbe) + next
}

// startupState describes a startup probe that has not succeeded yet.
func (m *moment) startupState(c *v1.Container, start *trace.Record) string {
	n, says := m.failures(c.Name, start, trace.Startup), ""
	if n > 0 {
		says = m.alsoSays(m.lastProbe(c.Name, trace.Startup))
	}
	text := fmt.Sprintf("; its startup probe has not succeeded yet (%s, failureThreshold %d%s)", plural(n, "failure"),
		c.StartupProbe.FailureThreshold, says)
	text += m.nextRun(c, start, trace.Startup, c.StartupProbe)
	if c.LivenessProbe != nil || c.ReadinessProbe != nil {
		text += ", so its other probes do not run"
	}
	return text
}

// failures counts the consecutive failures of a probe of an instance since the kubelet started.
func (m *moment) failures(container string, start *trace.Record, kind trace.Probe) int {
	n := 0
	var restart *trace.Record
	for _, p := range slices.Backward(m.probes[probe{subject{m.pod, container}, kind}]) {
		if p.T > m.t || p.Result == trace.Error {
			continue
		}
		if n == 0 {
			restart = m.kubeletStart(p.Step)
		}
		if p.Instance != start.Instance || succeeded(p) || restart != nil && p.Step < restart.Step {
			break
		}
		n++
	}
	return n
}

// errors returns the last consecutive runs of a probe of an instance that ended with an error,
// newest first.
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
		return fmt.Sprintf("; its %s probe ended with an error at %s, which the kubelet ignores%s", kind,
			m.at(runs[0].T), quotedMessage(runs[0])) +
			m.inParentheses(m.ruleOf(runs[0]))
	}
	return fmt.Sprintf("; its %s probe has ended with an error since %s (%s times in a row), which the kubelet "+
		"ignores%s",
		kind, m.at(runs[len(runs)-1].T), number(len(runs)), quotedMessage(runs[0])) + m.inParentheses(m.ruleOf(runs[0]))
}

// failingProbe says how often a probe has failed in a row, if it fails.
func (m *moment) failingProbe(c *v1.Container, start *trace.Record, kind trace.Probe, spec *v1.Probe) string {
	n := m.failures(c.Name, start, kind)
	if spec == nil || n == 0 {
		return ""
	}
	last := m.lastProbe(c.Name, kind)
	runs, before := m.streak(last, n)
	text := fmt.Sprintf("; its %s probe failed at %s (failureThreshold %d", kind, m.at(runs[0].T),
		spec.FailureThreshold)
	if n > 1 {
		text = fmt.Sprintf("; its %s probe has failed since %s (%s in a row, failureThreshold %d", kind,
			m.at(runs[0].T), plural(n, "failure"), spec.FailureThreshold)
	}
	if before != nil && before.Instance == start.Instance {
		text += ", last success at " + m.at(before.T)
	}
	if restart := m.restarted(last); restart != nil {
		text += fmt.Sprintf("; the kubelet restarted at %s and counts from zero", m.at(restart.T))
	}
	return text + m.newPeriod(last) + m.alsoSays(last) + ")"
}

// restarted returns the start of the kubelet since which failures that began before it count anew,
// or nil.
func (m *moment) restarted(last *trace.Record) *trace.Record {
	for _, rec := range slices.Backward(m.kubelet) {
		switch {
		case rec.Kind != trace.KubeletStarted || rec.T > m.t:
		case rec.Step > last.Step || m.failedBefore(last, rec):
			return rec
		default:
			return nil
		}
	}
	return nil
}

// longAnswer is the time for which a probe can wait for an answer without a mention.
const longAnswer = time.Second

// openProbe says since when a probe has waited for an answer, if it has for long.
func (m *moment) openProbe(c *v1.Container, start *trace.Record, kind trace.Probe) string {
	var request *trace.Record
	ended := m.ended(c.Name, kind)
	for _, b := range slices.Backward(m.asked[probe{subject{m.pod, c.Name}, kind}]) {
		if b.T <= m.t && b.Instance == start.Instance && b.Step > ended {
			request = b // a run can make several requests
		}
	}
	if request == nil || m.t.Sub(request.T) < longAnswer {
		return ""
	}
	says := ""
	if text := m.says(request); text != "" {
		says = "; " + text
	}
	text := fmt.Sprintf("; its %s probe has waited for an answer since %s", kind, m.at(request.T))
	if spec := m.probeSpec(probe{subject{m.pod, c.Name}, kind}, m.t); spec != nil {
		text += fmt.Sprintf(" (timeoutSeconds %d%s)", spec.TimeoutSeconds, says)
	}
	return text
}

// ended returns the step of the last end of a probe run: its result, or the stop of the kubelet.
func (m *moment) ended(container string, kind trace.Probe) int64 {
	step := int64(0)
	for _, list := range [][]*trace.Record{m.probes[probe{subject{m.pod, container}, kind}], m.kubelet} {
		for _, rec := range list {
			if rec.T <= m.t {
				step = max(step, rec.Step)
			}
		}
	}
	return step
}

// readinessSuccess describes a readiness probe whose last run succeeded.
func (m *moment) readinessSuccess(last *trace.Record, spec *v1.Probe) string {
	n := int(spec.SuccessThreshold)
	if runs, before := m.streak(last, n); len(runs) < n && before != nil {
		return fmt.Sprintf("; its readiness probe has succeeded %s (successThreshold %d)", m.times(runs), n)
	}
	return fmt.Sprintf("; its readiness probe last succeeded at %s", m.at(last.T))
}
