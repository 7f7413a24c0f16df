package reconstruct

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// ignoresSignal is the rule of a program that does not end when the kubelet stops it.
var ignoresSignal = rule{"afterSigterm: 0s, exit: never", "It used up its grace period: it ignores the stop signal."}

// tryStop returns behaviors after the stop signal.
func tryStop(s *search, c *v1.Container) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	if isInit(m.object, c) && !podutil.IsRestartableInitContainer(c) {
		return list
	}
	stop := func(rules ...rule) { list = append(list, choice{name: "stop", rules: rules}) }
	killed := false
	for _, f := range m.pod.Facts {
		if f.Container != c.Name {
			continue
		}
		if f.Kind == incident.Event && f.Reason == "Killing" && f.Last.Known() {
			killed = true
			for _, t := range m.pod.Facts {
				if t.Container == c.Name && t.Kind == incident.Terminated && t.Last.Known() && !t.Last.End().Before(f.Last.At) {
					took := max(t.Last.At.Sub(f.Last.Best()), 0)
					for _, d := range []time.Duration{took, took + 500*time.Millisecond, max(took-500*time.Millisecond, 0)} {
						stop(rule{fmt.Sprintf("afterSigterm: %s, exit: %d", value.Format(round(d)), max(min(t.ExitCode, 255), 0)),
							fmt.Sprintf("%s: it exited with code %d about %s after the stop signal.", t.Place, t.ExitCode, value.Format(round(d)))})
					}
				}
			}
		}
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "FailedPreStopHook" && f.Container == c.Name && c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep == nil {
			stop(rule{"preStop: fail", fmt.Sprintf("%s: the hook failed", f.Place)})
			stop(rule{"preStop: hang", fmt.Sprintf("%s: the hook failed at the end of the grace period", f.Place)})
			killed = true
			break
		}
	}
	for _, d := range s.stopsBetween(c) {
		stop(rule{fmt.Sprintf("afterSigterm: %s, exit: %d", value.Format(round(d.took)), d.code), d.says})
	}
	if killed {
		for _, d := range s.endsOfRequests(c) {
			stop(rule{fmt.Sprintf("afterSigterm: %s, exit: 0", value.Format(round(d))), "A request of a probe that had been sent before the stop signal failed then."})
		}
		stop(ignoresSignal)
		for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
			stop(rule{fmt.Sprintf("afterSigterm: %s, exit: 0", value.Format(d)), "The recording does not tell how it exited."})
		}
	}
	return list
}

// stopTime is how long a program needs to stop, as far as facts tell.
type stopTime struct {
	took time.Duration
	code int32
	says string
}

// stopsBetween returns how long the program needed to stop if no fact has both the stop signal and the end of an instance: the next
// instance started after a recorded kill, or the life of an instance whose end is recorded is longer than that until the signal in the best
// run so far.
func (s *search) stopsBetween(c *v1.Container) []stopTime {
	m := s.model
	var list []stopTime
	code := int32(0)
	add := func(took time.Duration, says string) {
		near := func(o stopTime) bool { return (o.took - took).Abs() < 300*time.Millisecond }
		if took > time.Second && took < time.Hour && len(list) < mostStops && !slices.ContainsFunc(list, near) {
			list = append(list, stopTime{took, code, says})
		}
	}
	for _, f := range m.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.When.Known() || !f.Last.Known() {
			continue
		}
		code = max(min(f.ExitCode, 255), 0)
		for _, l := range s.script(c).lives {
			if l.signal > 0 {
				add(f.Last.At.Sub(f.When.At)-l.signal, fmt.Sprintf("%s: the instance ran so much longer than until its stop signal.", f.Place))
			}
		}
	}
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Killing" || f.Container != c.Name || !f.When.Known() || f.When.Within > time.Second || incident.ParseKilling(f.Message) == incident.ByDeletion {
			continue
		}
		for _, start := range m.recordedStarts(c) {
			if after := start.at.At.Add(start.at.Within / 2).Sub(f.When.Best()); start.at.At.After(f.When.At) {
				add(after-700*time.Millisecond, fmt.Sprintf("%s: the next instance started so much later than the stop signal of %s.", start.fact.Place, f.Place))
				break
			}
		}
	}
	return list
}

// mostStops is the number of times to stop that stopsBetween returns at most.
const mostStops = 4

// outlasts reports whether a container still ran at the end of the recording, although the kubelet had begun to stop this instance, or its
// pod. The kubelet can have dropped the event about a container whose pod it stops; those of the others tell it, too.
func (m *model) outlasts(container string) bool {
	var running *incident.Fact
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Running && f.Container == container {
			running = f
		}
	}
	return running != nil && slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		if f.Kind != incident.Event || f.Reason != "Killing" {
			return false
		}
		return incident.ParseKilling(f.Message) == incident.ByDeletion || f.Container == container && running.When.Known() && f.Last.Known() && f.Last.At.After(running.When.End())
	})
}

// endsOfRequests returns how long after the stop signal failures of liveness and startup probes are recorded. The kubelet starts no such
// probes then, so a request that it had sent before ended with the container.
func (s *search) endsOfRequests(c *v1.Container) []time.Duration {
	var list []time.Duration
	for _, k := range s.model.pod.Facts {
		if k.Kind != incident.Event || k.Reason != "Killing" || k.Container != c.Name || !k.Last.Known() || incident.ParseKilling(k.Message) != incident.ByDeletion {
			continue
		}
		for _, probe := range []trace.Probe{trace.Startup, trace.Liveness} {
			for _, f := range s.model.failures(c.Name, probe) {
				if f.When.At.After(k.When.At) {
					list = append(list, f.When.At.Sub(k.When.At))
				}
			}
		}
	}
	return list
}
