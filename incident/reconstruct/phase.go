package reconstruct

import (
	"cmp"
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
			for _, probe := range trace.ProbeTypes {
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
	probe    trace.Probe
	period   time.Duration
	first    time.Duration
	failures []request
}

// request is the time of a request, and by how much it can be wrong.
type request struct{ at, doubt time.Duration }

// phase is when the probes run: the time that the sandbox takes is that from the addition of the pod, when the workers of the probes
// start, to the first start, and the workers of a kubelet that has just started wait first.
type phase struct {
	sandbox, uptime time.Duration
	fit             fit
}

// fit is how many recorded failures are at runs of their probes. Those of liveness and startup probes count first: a sync of a pod that is
// not ready runs its readiness probes at once, and their periods begin again then (onManualTrigger of the prober).
type fit struct{ certain, all int }

func (f fit) compare(o fit) int {
	return cmp.Or(cmp.Compare(f.certain, o.certain), cmp.Compare(f.all, o.all))
}

// phases moves the runs of the probes to the times of the recorded failures, before the search looks for behaviors that need them there.
// It returns the other phases that are possible, the best first.
func (s *search) phases() ([]phase, error) {
	m := s.model
	base := phase{m.sandbox, m.uptime, s.matches(s.ticks(), 0)}
	list := []phase{base}
	for _, age := range []time.Duration{base.uptime, young} {
		m.sandbox, m.uptime = base.sandbox, age
		a, err := s.attempt()
		if err != nil {
			return nil, err
		}
		old := s.best
		s.best = a
		ticks := s.ticks()
		for _, by := range append([]time.Duration{0}, s.moves(ticks)...) {
			p := phase{(base.sandbox + by).Round(time.Microsecond), age, s.matches(ticks, by)}
			if p.sandbox >= time.Millisecond && s.possible(by) && !slices.ContainsFunc(list, p.like) {
				list = append(list, p)
			}
		}
		s.best = old
	}
	slices.SortStableFunc(list, func(a, b phase) int { return b.fit.compare(a.fit) })
	m.sandbox, m.uptime = list[0].sandbox, list[0].uptime
	a, err := s.attempt()
	if err == nil {
		s.best = a
	}
	others := list[1:min(len(list), 1+otherPhases)]
	if !base.like(list[0]) { // a failure can be at another time than the run of its probe: the program answered late, or ended before it answered
		others = append([]phase{base}, slices.DeleteFunc(others, base.like)...)
	}
	return others, err
}

// otherPhases is the number of phases from which the search begins again.
const otherPhases = 3

// like reports whether the probes run at the same times in two phases.
func (p phase) like(o phase) bool { return p.uptime == o.uptime && (p.sandbox-o.sandbox).Abs() <= near }

// ticks returns the probes that run in the best run and have recorded failures whose first times are known to a second.
func (s *search) ticks() []ticks {
	var list []ticks
	for _, containers := range [][]v1.Container{s.model.object.Spec.InitContainers, s.model.object.Spec.Containers} {
		for i := range containers {
			for _, probe := range trace.ProbeTypes {
				p := incident.ProbeOf(&containers[i], probe)
				runs := s.probeRuns(containers[i].Name, probe)
				if p == nil || len(runs) == 0 {
					continue
				}
				t := ticks{probe: probe, period: period(p), first: runs[len(runs)-1].T.Offset() - runs[len(runs)-1].Took}
				for _, f := range s.model.failures(containers[i].Name, probe) {
					if f.When.Within > time.Second || f.AtLeast {
						continue
					}
					took := runs[len(runs)-1].Took
					if waitedFor(p, f) {
						took = fullTimeout(p, incident.ParseUnhealthy(f.Message))
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
func (s *search) matches(list []ticks, by time.Duration) fit {
	var n fit
	for _, t := range list {
		for _, r := range t.failures {
			off := ((r.at-t.first+by)%t.period + t.period) % t.period
			if min(off, t.period-off) <= r.doubt {
				n.all++
				if t.probe != trace.Readiness {
					n.certain++
				}
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

// tryPhase moves the runs of the probes with respect to the first start, and the first start with respect to the creation of the pod:
// the kubelet starts the workers of the probes before it creates the sandbox, whose time the recording does not tell.
func tryPhase(s *search, _ *part) []choice {
	m := s.model
	list := []choice{}
	seen := map[string]bool{}
	for _, f := range m.pod.Facts {
		u := incident.ParseUnhealthy(f.Message)
		if f.Kind == incident.ProbeRun {
			u.Probe = f.Probe
		}
		c := m.spec(f.Container)
		if u.Probe == "" || f.When.Within > time.Second || !f.When.Known() || c == nil || incident.ProbeOf(c, u.Probe) == nil || seen[c.Name+string(u.Probe)] {
			continue
		}
		seen[c.Name+string(u.Probe)] = true // the first of each probe
		p := incident.ProbeOf(c, u.Probe)
		runs := s.probeRuns(f.Container, u.Probe)
		if len(runs) == 0 {
			continue
		}
		tick := period(p)
		want := f.When.At.Add(f.When.Within / 2).Sub(s.best.zero)
		for _, r := range []*trace.Record{runs[0], runs[len(runs)-1]} {
			by := (r.T.Offset() - want) % tick
			for _, d := range []time.Duration{by, by + tick, by - tick} {
				if at := m.sandbox + d; at >= time.Millisecond && at <= time.Hour && s.possible(d) {
					list = append(list, choice{name: "phase", sandbox: ptr(at.Round(time.Microsecond))})
				}
			}
		}
	}
	list = append(list, s.relists()...)
	if s.missesChange() {
		for _, uptime := range s.ages() {
			list = append(list, choice{name: "age", rare: true, uptime: uptime})
		}
	}
	for tenth := range 10 {
		list = append(list, choice{name: "uptime", uptime: 150*time.Second + time.Duration(tenth)*100*time.Millisecond + 37*time.Millisecond})
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Created || f.Kind == incident.Event && f.Reason == "Scheduled" {
			at := f.When.Best().Sub(s.best.zero)
			if f.Kind == incident.Created {
				at += f.When.Within / 2
			}
			if mount := m.mount - at; at.Abs() > time.Second && mount >= 0 && mount < time.Hour {
				list = append(list, choice{name: "mount", mount: ptr(round(mount))})
			}
		}
	}
	return list
}

// relists moves the relists of the kubelet, in which it notices exits, so that a container that starts after one has its exact time.
func (s *search) relists() []choice {
	var list []choice
	uptime := cmp.Or(s.model.uptime, 150337*time.Millisecond) // the default of the format
	containers := append(slices.Clone(s.model.object.Spec.InitContainers), s.model.object.Spec.Containers...)
	for i := range containers {
		if i == 0 || !isInit(s.model.object, &containers[i-1]) || podutil.IsRestartableInitContainer(&containers[i-1]) {
			continue
		}
		if _, late := s.lateness(&containers[i-1]); late.Abs() > time.Millisecond {
			list = append(list, choice{name: "uptime", uptime: 150*time.Second + ((uptime-late)%time.Second+time.Second)%time.Second})
		}
	}
	return list
}
