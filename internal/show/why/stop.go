package why

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// hook is a run of a lifecycle hook.
type hook struct {
	end  virtual.Time // or the end of the run
	over bool         // it ended, with its container or with the kubelet at the latest
}

// hook returns the run of a hook that begins with a record of kind HookStarted.
func (r *Run) hook(start *trace.Record) hook {
	if end := r.hooks[start.Step]; end != nil {
		return hook{end.T, true}
	}
	if stopped := r.kubeletStop(start.Step); stopped != nil {
		return hook{stopped.T, true}
	}
	return hook{r.end, false}
}

// kubeletStop returns the first stop of the kubelet after a step, or nil.
func (r *Run) kubeletStop(after int64) *trace.Record {
	return first(r.about[kubelet],
		func(rec *trace.Record) bool { return rec.Kind == trace.KubeletStopped && rec.Step > after })
}

// killing returns the event that announces the stop of the instance of a record, or nil.
func (r *Run) killing(of *trace.Record) *trace.Record {
	return r.ofInstance(of, 0, trace.Event, "Killing")
}

// preStopHook returns the preStop hook that runs after the event that announces a stop, or nil.
func (r *Run) preStopHook(killing *trace.Record) *hook {
	if start := r.ofInstance(killing, killing.Step, trace.HookStarted, "preStop"); start != nil {
		return new(r.hook(start))
	}
	return nil
}

// stop returns the last record of the stop of an instance that runs: the event that announces it,
// or the stop signal. Without a stop in progress it returns nil.
func (m *moment) stop(container string) *trace.Record {
	var stop *trace.Record
	for _, rec := range m.about[topic{lives, subject{pod: m.pod, container: container}}] {
		switch {
		case rec.T > m.t:
		case rec.Kind == trace.ContainerStarted, rec.Kind == trace.ContainerExited:
			stop = nil
		case rec.Kind == trace.ContainerStopping, rec.Kind == trace.Event && rec.Reason == "Killing":
			stop = rec
		}
	}
	if stop != nil && stop.Kind == trace.Event {
		if k := m.kubeletStop(stop.Step); k != nil && k.T <= m.t {
			return nil // the stop ended with the kubelet
		}
	}
	return stop
}

// stopping describes the stop of a running container: its cause, its preStop hook, and what is left
// of its grace period.
func (m *moment) stopping(c *v1.Container, stop *trace.Record) string {
	if stop.Kind == trace.ContainerStopping {
		kill := stop.T.Add(seconds(stop.GraceSeconds))
		return fmt.Sprintf("; the kubelet told it to stop at %s%s and kills it at %s unless it exits first (%s are "+
			"left)", m.at(stop.T), around(" ", stopReasons[stop.Reason], ""), m.at(kill), m.span(kill.Sub(m.t)))
	}
	signal := m.ofInstance(stop, 0, trace.ContainerStopping, "")
	return fmt.Sprintf("; the kubelet has been stopping it since %s%s", m.at(stop.T),
		around(" ", m.stopReason(stop, signal), "")) + m.beforeSignal(c, stop, signal) + m.signal(c, stop, signal)
}

// beforeSignal says what a container that is to stop does before the stop signal.
func (m *moment) beforeSignal(c *v1.Container, stop, signal *trace.Record) string {
	h := m.preStopHook(stop)
	switch {
	case h != nil && signal != nil && h.end > signal.T:
		return ": its preStop hook needs longer than its grace period"
	case h != nil && h.over && h.end > m.t:
		return fmt.Sprintf(": its preStop hook runs until %s", m.at(h.end))
	case h != nil && !h.over:
		return ": its preStop hook runs until the end of the run or longer"
	case podutil.IsRestartableInitContainer(c):
		return ": sidecars stop last, after the other containers"
	}
	return ""
}

// signal says when the stop signal follows, and what is then left of the grace period.
func (m *moment) signal(c *v1.Container, stop, signal *trace.Record) string {
	if signal != nil {
		return fmt.Sprintf(", the stop signal follows at %s, and %ds of its grace period are then left", m.at(signal.T),
			signal.GraceSeconds)
	}
	if rec := m.kubeletStop(stop.Step); rec != nil {
		return fmt.Sprintf(", and the stop ends without a stop signal when the kubelet stops at %s", m.at(rec.T))
	}
	if exit := m.ofInstance(stop, 0, trace.ContainerExited, ""); exit != nil {
		return ", and it exits before the stop signal, at " + m.at(exit.T)
	}
	if grace, known := m.grace(c, stop); known {
		return fmt.Sprintf(", and its %ds grace period ends at %s", grace, m.at(stop.T.Add(seconds(grace))))
	}
	return ""
}

// stopReason says why the kubelet stops a container. The stop signal may not have followed.
func (m *moment) stopReason(stop, signal *trace.Record) string {
	if signal != nil {
		return stopReasons[signal.Reason]
	}
	switch cause := m.cause(stop); {
	case cause == nil:
	case cause.Kind == trace.ProbeExecuted && cause.Container == stop.Container:
		return fmt.Sprintf("after its %s probe failed", cause.Probe)
	case cause.Kind == trace.PodDeleteRequested:
		return stopReasons["Deleted"]
	}
	return ""
}

// grace returns the grace period of a stop in seconds if a probe caused the stop, and whether it
// did (setTerminationGracePeriod in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (m *moment) grace(c *v1.Container, stop *trace.Record) (seconds int64, known bool) {
	cause, pod := m.cause(stop), m.pods[m.pod]
	if cause == nil || cause.Kind != trace.ProbeExecuted || cause.Container != c.Name || pod == nil ||
		pod.Spec.TerminationGracePeriodSeconds == nil {
		return 0, false
	}
	if p := m.probeSpec(probeOf(cause), m.t); p != nil &&
		p.TerminationGracePeriodSeconds != nil {
		return *p.TerminationGracePeriodSeconds, true
	}
	return *pod.Spec.TerminationGracePeriodSeconds, true
}
