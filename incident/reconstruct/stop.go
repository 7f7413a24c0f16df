package reconstruct

import (
	"fmt"
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
			killed = true
			break
		}
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

// outlasts reports whether a container still ran at the end of the recording, although the kubelet had begun to stop its pod.
func (m *model) outlasts(container string) bool {
	stopped, running := false, false
	for _, f := range m.pod.Facts {
		if f.Container == container {
			stopped = stopped || f.Kind == incident.Event && f.Reason == "Killing" && incident.ParseKilling(f.Message) == incident.ByDeletion
			running = running || f.Kind == incident.Running
		}
	}
	return stopped && running
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
