package reconstruct

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// young is the uptime of a kubelet that has just started: its probes first wait for a part of their periods. The part of a second is that
// of the default.
const young = 2337 * time.Millisecond

// old returns the uptime of a kubelet that is older than the periods of all probes, as most kubelets are, or 0 if the default is: a
// probe with a longer period first waits for a part of it. The part of a second is that of the default.
func (m *model) old() time.Duration {
	var longest time.Duration
	for _, c := range m.containers() {
		for _, probe := range probesOf(c) {
			longest = max(longest, period(incident.ProbeOf(c, probe)))
		}
	}
	if longest < 150*time.Second {
		return 0
	}
	return longest + 60*time.Second + 337*time.Millisecond
}

// ages returns uptimes of kubelets whose probes run at other times than those of the default: the probes with a longer period than the
// uptime first wait for a part of it.
func (s *search) ages() []time.Duration {
	list := []time.Duration{young}
	if s.model.old() > 0 {
		list = append(list, 150337*time.Millisecond) // the default of the format
	}
	for _, containers := range [][]v1.Container{s.model.object.Spec.InitContainers, s.model.object.Spec.Containers} {
		for i := range containers {
			for _, probe := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
				if p := incident.ProbeOf(&containers[i], probe); p != nil && period(p) < 100*time.Second {
					if age := period(p) + 337*time.Millisecond; !slices.Contains(list, age) {
						list = append(list, age)
					}
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// near is how exactly the run of a probe has the time of a recorded failure, if its phase is that of the recording: programs need an
// unknown time to answer.
const near = 60 * time.Millisecond

// ticks is the first run of a probe in a run, and the requests of its recorded failures.
type ticks struct {
	period   time.Duration
	first    time.Duration
	failures []request
}

// request is the time of a request, and by how much it can be wrong.
type request struct{ at, doubt time.Duration }

// phases moves the runs of the probes to the times of the recorded failures, before the search looks for behaviors that need them there:
// by the time from the addition of the pod, when the workers of the probes start, to the first start, or with a kubelet that has just
// started.
func (s *search) phases() error {
	m := s.model
	base, uptime := m.sandbox, m.uptime
	best, most := base, s.matches(s.ticks(), 0)
	bestUptime := uptime
	for _, age := range []time.Duration{uptime, young} {
		m.sandbox, m.uptime = base, age
		a, err := s.attempt()
		if err != nil {
			return err
		}
		old := s.best
		s.best = a
		list := s.ticks()
		for _, by := range s.moves(list) {
			if n := s.matches(list, by); n > most && base+by >= time.Millisecond && s.possible(by) {
				best, bestUptime, most = (base + by).Round(time.Microsecond), age, n
			}
		}
		s.best = old
	}
	m.sandbox, m.uptime = best, bestUptime
	a, err := s.attempt()
	if err == nil {
		s.best = a
	}
	return err
}

// ticks returns the probes that run in the best run and have recorded failures whose first times are known to a second.
func (s *search) ticks() []ticks {
	var list []ticks
	for _, containers := range [][]v1.Container{s.model.object.Spec.InitContainers, s.model.object.Spec.Containers} {
		for i := range containers {
			for _, probe := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
				p := incident.ProbeOf(&containers[i], probe)
				runs := s.probeRuns(containers[i].Name, probe)
				if p == nil || len(runs) == 0 {
					continue
				}
				t := ticks{period: period(p), first: runs[len(runs)-1].T.Offset() - runs[len(runs)-1].Took}
				for _, f := range s.model.failures(containers[i].Name, probe) {
					if f.When.Within > time.Second || f.AtLeast {
						continue
					}
					took := runs[len(runs)-1].Took
					if u := incident.ParseUnhealthy(f.Message); hangs(p, u) {
						took = fullTimeout(p, u)
					}
					t.failures = append(t.failures, request{f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - took, near + f.When.Within/2})
				}
				if succeeded, known := s.firstSuccess(&containers[i], probe, t.first); known {
					t.failures = append(t.failures, request{succeeded, near})
				}
				if len(t.failures) > 0 {
					list = append(list, t)
				}
			}
		}
	}
	return list
}

// firstSuccess returns when the startup probe of a sidecar that has no recorded failure ran first, if the start of the next container tells
// it: the kubelet starts that once the probe has succeeded. In the best run so far the probe succeeded at a time.
func (s *search) firstSuccess(c *v1.Container, probe trace.Probe, at time.Duration) (time.Duration, bool) {
	if probe != trace.Startup || !podutil.IsRestartableInitContainer(c) || len(s.model.failures(c.Name, probe)) > 0 || s.model.noisy("Warning") {
		return 0, false
	}
	f, late := s.lateness(c)
	return at + late, f != nil
}

// moves returns by how much more time the sandbox could take so that a failure is at a run of its probe, the least first.
func (s *search) moves(list []ticks) []time.Duration {
	var moves []time.Duration
	for _, t := range list {
		for _, r := range t.failures {
			by := ((t.first-r.at)%t.period + t.period) % t.period
			moves = append(moves, by, by-t.period)
		}
	}
	return moves
}

// matches returns how many recorded failures are at runs of their probes, if the sandbox takes so much longer.
func (s *search) matches(list []ticks, by time.Duration) int {
	n := 0
	for _, t := range list {
		for _, r := range t.failures {
			off := ((r.at-t.first+by)%t.period + t.period) % t.period
			if min(off, t.period-off) <= r.doubt {
				n++
			}
		}
	}
	return n
}

// possible reports whether the pod existed when the run begins, if the sandbox takes so much longer.
func (s *search) possible(by time.Duration) bool {
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Created && f.When.Known() {
			return !s.best.zero.Add(-by).Before(f.When.At.Add(-time.Second))
		}
	}
	return true
}

// missesChange reports whether the best run so far lacks a change of the status at its recorded time. With a kubelet of another age the
// probes, and so the changes, have other times.
func (s *search) missesChange() bool {
	return slices.ContainsFunc(s.best.claims, func(c Claim) bool {
		return !c.Holds && (strings.Contains(c.expect, "becomes: ") || strings.Contains(c.expect, "ready: "))
	})
}
