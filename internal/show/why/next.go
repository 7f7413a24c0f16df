package why

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// nextRun says when a probe of a running container runs next and what decides it.
func (m *moment) nextRun(c *v1.Container, start *trace.Record, kind trace.Probe, spec *v1.Probe) string {
	p := probe{subject{m.pod, c.Name}, kind}
	end, what := m.lastsUntil(c.Name, start)
	for _, run := range m.probes[p] {
		began := run.T.Add(-run.Took)
		switch {
		case run.T <= m.t:
			continue
		case began <= m.t:
			return ", and a run is under way"
		case began > end:
			return fmt.Sprintf(", and does not run before %s", what)
		}
		return fmt.Sprintf(", and runs next at %s (%s)", m.at(began), m.tick(p, spec, began))
	}
	return fmt.Sprintf(", and does not run before %s", what)
}

// lastsUntil returns when an instance ends, or the kubelet, or the run.
func (m *moment) lastsUntil(container string, start *trace.Record) (end virtual.Time, what string) {
	end, what = m.end, "the end of the run at "+m.at(m.end)
	if exit := m.ofInstance(subject{m.pod, container}, start.Instance, func(rec *trace.Record) bool {
		return rec.Kind == trace.ContainerExited
	}); exit != nil {
		end, what = exit.T, "the exit of its container at "+m.at(exit.T)
	}
	for _, rec := range m.kubelet {
		if rec.Kind == trace.KubeletStopped && rec.T >= m.t && rec.T < end {
			return rec.T, "the kubelet stops at " + m.at(rec.T)
		}
	}
	return end, what
}

// tick says what decides that a probe runs at a moment.
func (r *Run) tick(p probe, spec *v1.Probe, began virtual.Time) string {
	if slices.ContainsFunc(r.resets[p], func(rec *trace.Record) bool { return rec.T == began }) {
		return "when the kubelet syncs the pod"
	}
	return fmt.Sprintf("periodSeconds %d", spec.PeriodSeconds)
}

// firstRun says what a success without earlier failures waited for, if the probe first ran long
// after its cause.
func (r *Run) firstRun(rec, cause *trace.Record) string {
	p, began := probe{subject{rec.Pod, rec.Container}, rec.Probe}, rec.T.Add(-rec.Took)
	spec := r.probeSpec(p, rec.T)
	if spec == nil || cause == nil || len(r.failuresBefore(rec)) > 0 || began.Sub(cause.T) <= noticeable {
		return ""
	}
	runs := slices.DeleteFunc(r.runsUpTo(rec), func(run *trace.Record) bool { return run.T < cause.T })
	if len(runs) != 1 {
		return ""
	}
	text := fmt.Sprintf(", its first run (%s)", r.tick(p, spec, began))
	if delay := time.Duration(spec.InitialDelaySeconds) * time.Second; delay > 0 &&
		cause.Kind == trace.ContainerStarted {
		text = fmt.Sprintf(", its first run after initialDelaySeconds %d (%s)", spec.InitialDelaySeconds,
			r.tick(p, spec, began))
	}
	return text
}
