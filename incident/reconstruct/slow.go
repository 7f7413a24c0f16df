package reconstruct

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// slowAnswer returns a rule for a program that takes its time to answer: the pod became Ready later than in the best run so far.
func (s *search) slowAnswer(probe trace.Probe, tick time.Duration) *rule {
	if probe == trace.Liveness {
		return nil
	}
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Condition || f.Reason != "Ready" || f.Value != "True" || !f.When.Known() {
			continue
		}
		want := f.When.At.Add(f.When.Within / 2).Sub(s.best.zero)
		var ready time.Duration // of the last change in the run
		on := false
		for i := range s.best.run.Records {
			if r := &s.best.run.Records[i]; r.Kind == trace.StatusPatched && r.Status.Ready != on {
				if on = r.Status.Ready; on {
					ready = r.T.Offset()
				}
			}
		}
		if took := want - ready; on && took > 400*time.Millisecond && took < 2*tick {
			return &rule{fmt.Sprintf("%s: ok in %s", probe, value.Format(round(took))), fmt.Sprintf("%s: the pod became Ready at %s", f.Place, value.Format(round(want)))}
		}
	}
	return nil
}

// unrecorded returns behaviors in which a probe fails although the recording has no failure: the pod was not Ready, or not started, and
// the events may have expired.
func (s *search) unrecorded(c *v1.Container, probe trace.Probe) []choice {
	list := []choice{{name: "none"}}
	says := "The recording has no failure of this probe, but the container was not ready."
	if probe == trace.Startup {
		says = "The recording has no failure of this probe, but the container had not started."
	}
	if probe == trace.Liveness {
		return list
	}
	if slow := s.slowAnswer(probe, period(incident.ProbeOf(c, probe))); slow != nil {
		list = append(list, choice{name: "slow", rules: []rule{*slow}})
	}
	if probe == trace.Startup {
		list = append(list, s.slowStartups(c)...)
	}
	if _, late := s.lateness(c); probe == trace.Startup && isInit(s.model.object, c) && late > 20*time.Millisecond {
		list = append(list, s.calibrated(c, "startup: ok in %s", round(late), "the next container starts when this one has started", 3))
	}
	for _, f := range s.model.pod.Facts {
		tells := probe == trace.Readiness && f.Kind == incident.Condition && (f.Reason == "Ready" || f.Reason == "ContainersReady") ||
			f.Container == c.Name && (probe == trace.Readiness && f.Kind == incident.Ready || probe == trace.Startup && f.Kind == incident.Started)
		if !tells {
			continue
		}
		if f.Value == "False" || f.Value == "false" {
			list = append(list, choice{name: "never", rules: []rule{{fmt.Sprintf("%s: fail", probe), says}}})
			if f.Kind == incident.Condition && f.When.Known() {
				at := f.When.At.Sub(s.best.zero) - period(incident.ProbeOf(c, probe))*time.Duration(max(incident.ProbeOf(c, probe).FailureThreshold, 1))
				list = append(list, choice{name: "since", rules: []rule{{fmt.Sprintf("at: %s, %s: fail", value.Format(max(round(at), 0)), probe), says}}})
			}
		} else if f.Kind == incident.Condition && f.When.Known() {
			at := f.When.At.Sub(s.best.zero) - period(incident.ProbeOf(c, probe))/2
			list = append(list, choice{name: "until", rules: []rule{{fmt.Sprintf("at: 0s, for: %s, %s: fail", value.Format(max(round(at), time.Millisecond)), probe), says}}})
		}
	}
	return list
}

// failsLater returns a rule with which a readiness probe fails until the end of the recording, so that the pod stops being Ready when it did,
// although the kubelet may have dropped the events about it. It returns nil if nothing tells of such failures.
func (s *search) failsLater(c *v1.Container, probe trace.Probe) *rule {
	if probe != trace.Readiness || !s.model.noisy("Warning") {
		return nil
	}
	p := incident.ProbeOf(c, probe)
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Condition && f.Reason == "Ready" && f.Value == "False" && f.When.Known() {
			at := f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - (period(p)*time.Duration(2*max(p.FailureThreshold, 1)-1))/2
			return &rule{fmt.Sprintf("at: %s, %s: fail", value.Format(max(round(at), 0)), probe), f.Place.String() + ": the pod was no longer Ready. The kubelet may have dropped the events about the failures."}
		}
	}
	return nil
}

// failsBeforeKills returns rules with which a probe fails as often before each of its recorded kills as that needs, although the kubelet may
// have dropped the events about these failures. It returns nil if nothing tells of such failures.
func (s *search) failsBeforeKills(c *v1.Container, probe trace.Probe) []rule {
	cause, kills := causes[probe]
	if !kills || !s.model.noisy("Warning") {
		return nil
	}
	p := incident.ProbeOf(c, probe)
	tick := period(p)
	var rules []rule
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Killing" || f.Container != c.Name || incident.ParseKilling(f.Message) != cause || !f.When.Known() {
			continue
		}
		moments := []incident.Moment{f.When}
		if f.Count > 1 && f.Last.Known() {
			moments = append(moments, f.Last)
		}
		for _, at := range moments {
			last := at.At.Add(at.Within/2).Sub(s.best.zero) - 10*time.Millisecond
			first := last - time.Duration(max(p.FailureThreshold, 1)-1)*tick
			rules = append(rules, window(first, last, probe, "fail", tick, f.Place.String()+": it was killed. The kubelet may have dropped the events about the failures."))
		}
	}
	return rules
}

// failsAtAge returns a rule with which each instance fails a probe from the age on at which the probe has it killed when the last instance
// that ended did, although the kubelet may have dropped the events about these failures. It returns nil if nothing tells of such failures.
func (s *search) failsAtAge(c *v1.Container, probe trace.Probe) *rule {
	if s.model.kills(c.Name, probe) == 0 || !s.model.noisy("Warning") {
		return nil
	}
	p := incident.ProbeOf(c, probe)
	for _, f := range s.model.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.When.Known() || !f.Last.Known() {
			continue
		}
		age := f.Last.At.Sub(f.When.At) - period(p)*time.Duration(2*max(p.FailureThreshold, 1)-1)/2
		if age > 0 {
			return &rule{fmt.Sprintf("after: %s, %s: fail", value.Format(round(age)), probe), fmt.Sprintf("%s: instance %d was killed. The kubelet may have dropped the events about the failures.", f.Place, s.model.numberOf(f))}
		}
	}
	return nil
}

// slowStartups returns choices in which the startup probe of a container gets its answer so late that another probe has its recorded
// failures at its runs: the kubelet syncs the pod as soon as the startup probe has succeeded, and runs the probes of the container and the
// readiness probes of all containers that are not ready (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (s *search) slowStartups(c *v1.Container) []choice {
	runs := s.probeRuns(c.Name, trace.Startup)
	if len(runs) == 0 {
		return nil
	}
	took := runs[len(runs)-1].Took
	timeout := time.Duration(max(incident.ProbeOf(c, trace.Startup).TimeoutSeconds, 1)) * time.Second
	var list []choice
	for _, other := range s.model.containers() {
		for _, probe := range []trace.Probe{trace.Liveness, trace.Readiness} {
			p := incident.ProbeOf(other, probe)
			if p == nil || other.Name != c.Name && probe != trace.Readiness {
				continue
			}
			late, says, known := s.lateFailure(other, probe)
			for by := late; known && by < timeout; by += period(p) {
				if longer := took + by; longer > slowAfter && longer < timeout {
					list = append(list, choice{name: "slow startup", rare: true, rules: []rule{{"startup: ok in " + value.Format(round(longer)), says}}})
				}
			}
		}
	}
	return list
}

// lateFailure returns by how much later than in the best run so far a probe runs, as the time of its first failure tells: by less than its
// period.
func (s *search) lateFailure(c *v1.Container, probe trace.Probe) (late time.Duration, says string, known bool) {
	runs, outages := s.probeRuns(c.Name, probe), s.outages(c, probe)
	if len(runs) == 0 || len(outages) == 0 {
		return 0, "", false
	}
	first := slices.MinFunc(outages, func(a, b outage) int { return cmp.Compare(a.first, b.first) })
	tick := period(incident.ProbeOf(c, probe))
	late = (first.first - requestOf(runs[0])) % tick
	return (late + tick) % tick, first.says, true
}
