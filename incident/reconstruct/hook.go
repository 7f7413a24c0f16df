package reconstruct

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
)

// tryHook lets the postStart hook of a container take as long as the container after it started late: the kubelet starts containers in
// turn, after the hook of the one before.
func tryHook(s *search, c *v1.Container) []choice {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil || c.Lifecycle.PostStart.Sleep != nil {
		return nil
	}
	if failed := s.failedHook(c); failed != nil {
		return append([]choice{{name: "none"}}, failed...)
	}
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Waiting && f.Container == c.Name && f.Reason != "CrashLoopBackOff" && len(s.model.recordedStarts(c)) > 0 {
			return []choice{{name: "none"}, {name: "hook", rules: []rule{{"postStart: hang", fmt.Sprintf("%s: the container has started, but waits: its hook has not ended", f.Place)}}}}
		}
	}
	list := []choice{{name: "none"}}
	if _, late := s.lateness(c); late > 20*time.Millisecond {
		list = append(list, s.calibrated(c, "postStart: ok in %s", round(late), "the next container starts after the hook", 3))
	}
	return append(append(list, s.lastingHooks(c)...), s.hooksBeforeProbes(c)...)
}

// hooksBeforeProbes returns choices in which the postStart hook of a container lasts until shortly before the first recorded failure of a
// probe: the status of the pod that the probes wait for follows the hook (syncPod in pkg/kubelet/kubelet.go, v1.37.0).
func (s *search) hooksBeforeProbes(c *v1.Container) []choice {
	starts := s.starts(c.Name)
	if len(starts) == 0 {
		return nil
	}
	var list []choice
	for _, probe := range probesOf(c) {
		tick := period(incident.ProbeOf(c, probe))
		for _, o := range s.outages(c, probe) {
			// The first run comes at a tick, or at once for a readiness probe, which the kubelet triggers (UpdatePodStatus in
			// pkg/kubelet/prober/prober_manager.go, v1.37.0).
			for _, before := range []time.Duration{tick / 2, 10 * time.Millisecond} {
				if took := o.first - before - starts[0].Offset(); took > min(tick/2, time.Second) && took < time.Hour {
					list = append(list, choice{name: "lasting hook", rare: true, rules: []rule{{"postStart: ok in " + value.Format(round(took)), o.says + ". The probe did not run before the end of the hook."}}})
				}
			}
			break
		}
	}
	return list
}

// lastingHooks returns choices in which the postStart hook of a container lasts until something that the kubelet does only after the hook:
// it stops the pod, or tells that its containers are ready.
func (s *search) lastingHooks(c *v1.Container) []choice {
	starts := s.starts(c.Name)
	if len(starts) == 0 {
		return nil
	}
	var list []choice
	for _, f := range s.model.pod.Facts {
		stops := f.Kind == incident.Event && f.Reason == "Killing" && incident.ParseKilling(f.Message) == incident.ByDeletion
		ready := f.Kind == incident.Condition && f.Value == "True" && f.Reason != "PodScheduled"
		if !stops && !ready || !f.When.Known() {
			continue
		}
		took := f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - starts[0].Offset()
		if took < 100*time.Millisecond || took > time.Hour {
			continue
		}
		hook := choice{name: "lasting hook", rare: true, rules: []rule{{"postStart: ok in " + value.Format(round(took)),
			fmt.Sprintf("%s: this follows the end of the hook", f.Place)}}}
		list = append(list, hook)
		if stops && !s.model.deleted.IsZero() { // the request was before that
			for _, before := range []time.Duration{200 * time.Millisecond, took / 2} {
				hook.deleted, hook.grace = ptr(f.When.At.Add(-before)), s.model.grace
				list = append(list, hook)
			}
		}
	}
	return list
}

// failedHook lets the postStart hook of a container fail, if an event says so: at once, or as long after the start as the event.
func (s *search) failedHook(c *v1.Container) []choice {
	m := s.model
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "FailedPostStartHook" || f.Container != c.Name || !f.When.Known() {
			continue
		}
		says := fmt.Sprintf("%s: the hook failed", f.Place)
		list := []choice{{name: "hook", rules: []rule{{"postStart: fail", says}}}, {name: "hook", rules: []rule{{"postStart: hang", says + " because the container ended before it"}}}}
		if n := m.restarts(c.Name) + 1 - f.Count; n > 0 { // those of the first instances did not fail, so the instance before exited by itself
			at := f.When.Best().Sub(s.best.zero)
			for _, code := range []int{1, 0} {
				list = append(list, choice{name: "hook", rules: []rule{
					{fmt.Sprintf("instance: %d.., postStart: fail", n), fmt.Sprintf("%s %d times, and the container started %d times", says, f.Count, m.restarts(c.Name)+1)},
					{fmt.Sprintf("instance: %d, at: %s, exit: %d", n-1, between(at-1300*time.Millisecond, at-200*time.Millisecond), code), fmt.Sprintf("%s: the instance that failed its hook started then. The exit code is not recorded.", f.Place)}}})
			}
		}
		for _, e := range m.pod.Facts {
			took := f.When.At.Sub(e.When.At)
			if e.Kind == incident.Event && e.Reason == "Started" && e.Container == c.Name && e.When.Within <= time.Millisecond && took > 40*time.Millisecond {
				list = append(list, choice{name: "hook", rules: []rule{{"postStart: fail in " + value.Format(round(took)), says}}})
				break
			}
		}
		return list
	}
	return nil
}
