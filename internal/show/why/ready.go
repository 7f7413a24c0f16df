package why

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// probing is a probe of a running container at a moment.
type probing struct {
	*moment
	subject
	spec  *v1.Probe     // nil: the container has no such probe
	start *trace.Record // of the instance
	runs  []*trace.Record
}

func (m *moment) probing(c *v1.Container, start *trace.Record, kind trace.Probe) *probing {
	p := &probing{moment: m, subject: subject{m.pod, c.Name, kind}, spec: podutil.ProbeOf(c, string(kind)),
		start: start}
	for _, run := range slices.Backward(m.about[topic{trace.ProbeExecuted, p.subject}]) {
		if run.T <= m.t {
			p.runs = append(p.runs, run) // newest first
		}
	}
	return p
}

// last returns the last run other than errors, or nil.
func (p *probing) last() *trace.Record {
	return first(p.runs, func(run *trace.Record) bool { return run.Result != trace.Error })
}

// hasRun reports whether the last run other than errors is of this instance.
func (p *probing) hasRun() bool {
	last := p.last()
	return last != nil && last.Instance == p.start.Instance
}

// hasSucceeded reports whether the last run is a success of this instance.
func (p *probing) hasSucceeded() bool { return p.hasRun() && succeeded(p.last()) }

// probeStates says which probes of a running container fail, have not succeeded or have not run.
func (m *moment) probeStates(c *v1.Container, start *trace.Record) string {
	if m.probesChanged(m.pod, m.t) {
		return ""
	}
	liveness, startup := m.probing(c, start, trace.Liveness), m.probing(c, start, trace.Startup)
	text := liveness.failing() + liveness.broken() + liveness.waiting()
	if startup.spec != nil && !startup.hasSucceeded() {
		text += startup.waiting() + startup.broken() + startup.unfinished()
		if c.LivenessProbe != nil || c.ReadinessProbe != nil {
			text += ", so its other probes do not run"
		}
		return text
	}
	if c.ReadinessProbe == nil {
		return text
	}
	readiness := m.probing(c, start, trace.Readiness)
	return text + readiness.broken() + readiness.waiting() + readiness.readiness()
}

// readiness describes a readiness probe.
func (p *probing) readiness() string {
	delay := p.start.T.Add(seconds(p.spec.InitialDelaySeconds))
	switch {
	case p.hasSucceeded():
		n := int(p.spec.SuccessThreshold)
		if runs, before := p.streak(p.last(), n); len(runs) < n && before != nil {
			return fmt.Sprintf("; its readiness probe has succeeded %s (successThreshold %d)", p.times(runs), n)
		}
		return fmt.Sprintf("; its readiness probe last succeeded at %s", p.at(p.last().T))
	case p.hasRun():
		return p.failing() + p.next()
	case p.t < delay:
		return fmt.Sprintf("; its readiness probe does not run before %s (initialDelaySeconds %d)", p.at(delay),
			p.spec.InitialDelaySeconds) + p.next()
	case len(p.errors()) > 0:
		return ""
	}
	return "; its readiness probe has not run yet" + p.next()
}

// unfinished describes a startup probe that has not succeeded yet.
func (p *probing) unfinished() string {
	n, rule := p.failures(), ""
	if n > 0 {
		rule = p.rule(p.last())
	}
	return fmt.Sprintf("; its startup probe has not succeeded yet (%s, failureThreshold %d%s)", plural(n, "failure"),
		p.spec.FailureThreshold, rule) + p.next()
}

// rule returns the words of the rule behind a run, after a semicolon, or "".
func (p *probing) rule(run *trace.Record) string { return around("; ", p.says(p.ruleOf(run)), "") }

// failures counts the consecutive failures of this instance since the kubelet started.
func (p *probing) failures() int {
	if !p.hasRun() || p.hasSucceeded() {
		return 0
	}
	failures := p.failuresBefore(p.last())
	if restart := p.kubeletStart(p.last().Step); restart != nil {
		failures = slices.DeleteFunc(failures, func(run *trace.Record) bool { return run.Step < restart.Step })
	}
	return len(failures)
}

// errors returns the last consecutive runs of this instance that ended with an error, newest first.
func (p *probing) errors() []*trace.Record {
	for i, run := range p.runs {
		if run.Instance != p.start.Instance || run.Result != trace.Error {
			return p.runs[:i]
		}
	}
	return p.runs
}

// broken says how often in a row the probe has ended with an error, if its last run did.
func (p *probing) broken() string {
	runs := p.errors()
	if len(runs) == 0 {
		return ""
	}
	when := "ended with an error at " + p.at(runs[0].T)
	if n := len(runs); n > 1 {
		when = fmt.Sprintf("has ended with an error since %s (%s times in a row)", p.at(runs[n-1].T), number(n))
	}
	return fmt.Sprintf("; its %s probe %s, which the kubelet ignores%s", p.probe, when, quotedMessage(runs[0])) +
		p.inParentheses(p.ruleOf(runs[0]))
}

// failing says how often the probe has failed in a row, if it fails.
func (p *probing) failing() string {
	n := p.failures()
	if p.spec == nil || n == 0 {
		return ""
	}
	latest := p.last()
	runs, before := p.streak(latest, n)
	when, often := "failed at "+p.at(runs[0].T), ""
	if n > 1 {
		when, often = "has failed since "+p.at(runs[0].T), plural(n, "failure")+" in a row, "
	}
	text := fmt.Sprintf("; its %s probe %s (%sfailureThreshold %d", p.probe, when, often, p.spec.FailureThreshold)
	if before != nil && before.Instance == p.start.Instance {
		text += ", last success at " + p.at(before.T)
	}
	start := last(p.about[kubelet],
		func(rec *trace.Record) bool { return rec.Kind == trace.KubeletStarted && rec.T <= p.t })
	if start != nil && (start.Step > latest.Step || p.failedBefore(latest, start)) {
		text += fmt.Sprintf("; the kubelet restarted at %s and counts from zero", p.at(start.T))
	}
	return text + p.newPeriod(latest) + p.rule(latest) + ")"
}

// longAnswer is the time for which a probe can wait for an answer without a mention.
const longAnswer = time.Second

// waiting says since when the probe has waited for an answer, if it has for long.
func (p *probing) waiting() string {
	ended := int64(0) // the step of the last result, or of the stop of the kubelet
	for _, of := range []topic{{trace.ProbeExecuted, p.subject}, kubelet} {
		for _, rec := range p.about[of] {
			if rec.T <= p.t {
				ended = max(ended, rec.Step)
			}
		}
	}
	for _, request := range p.about[topic{trace.Behavior, p.subject}] {
		if request.T > p.t || request.Instance != p.start.Instance || request.Step <= ended {
			continue
		}
		if p.t.Sub(request.T) < longAnswer {
			return ""
		}
		text := fmt.Sprintf("; its %s probe has waited for an answer since %s", p.probe, p.at(request.T))
		if p.spec != nil {
			text += fmt.Sprintf(" (timeoutSeconds %d%s)", p.spec.TimeoutSeconds, around("; ", p.says(request), ""))
		}
		return text // a run can make several requests
	}
	return ""
}

// next says when the probe runs next and what decides it.
func (p *probing) next() string {
	end, what := p.lastsUntil()
	for _, run := range p.about[topic{trace.ProbeExecuted, p.subject}] {
		began := run.T.Add(-run.Took)
		switch {
		case run.T <= p.t:
			continue
		case began <= p.t:
			return ", and a run is under way"
		case began <= end:
			return fmt.Sprintf(", and runs next at %s (%s)", p.at(began), p.tick(p.subject, p.spec, began))
		}
		break
	}
	return ", and does not run before " + what
}

// lastsUntil returns when the instance ends, or the kubelet, or the run.
func (p *probing) lastsUntil() (end virtual.Time, what string) {
	end, what = p.end, "the end of the run at "+p.at(p.end)
	if exit := p.ofInstance(p.start, 0, trace.ContainerExited, ""); exit != nil {
		end, what = exit.T, "the exit of its container at "+p.at(exit.T)
	}
	if stop := first(p.about[kubelet], func(rec *trace.Record) bool {
		return rec.Kind == trace.KubeletStopped && rec.T >= p.t && rec.T < end
	}); stop != nil {
		return stop.T, "the kubelet stops at " + p.at(stop.T)
	}
	return end, what
}
