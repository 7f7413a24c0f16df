package reconstruct

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// editsOfDeaths returns edits after which a container ends at the time of a request of its probe, as a missing failure tells: a command
// cannot run, because the container has ended shortly before; or the connection of a request ends, because the container ends while the
// request is under way.
func (s *search) editsOfDeaths(t *script, gaps []gap) []edit {
	var list []edit
	for _, g := range gaps {
		f := g.claim.Fact
		u := incident.ParseUnhealthy(f.Message)
		gone, cut := containerGone(f.Message), noAnswer(u.Output) || grpcEnd.MatchString(u.Output)
		if f.Container != t.c.Name || u.Probe == "" || incident.ProbeOf(t.c, u.Probe) == nil || !gone && !cut {
			continue
		}
		list = append(list, s.editsOfAges(t)...)
		middle := g.from + (g.to-g.from)/2
		for i, l := range t.lives {
			stopped := l.signal > 0 && l.start+l.signal < g.to
			if l.start > g.to || l.start+l.took < g.from-longestDeath && !stopped {
				continue
			}
			end := func(at time.Duration, pending *asked) {
				switch {
				case at <= l.start:
				case stopped && at > l.start+l.signal:
					list = append(list, s.stopsAt(t, l, at, pending, u.Probe, f)...)
				default:
					for _, code := range codesOf(l) {
						list = append(list, func(m *model) {
							n := t.clone()
							n.lives[i].exits, n.lives[i].took, n.lives[i].code = true, at-l.start, code
							if pending != nil {
								n.ask(u.Probe, *pending)
							}
							m.take(n)
						})
					}
				}
			}
			p := incident.ProbeOf(t.c, u.Probe)
			request, known := t.requestBefore(u.Probe, min(g.to, middle+period(p)/2))
			if !known || request < g.from-longestRequest(p) && !stopped {
				continue
			}
			under := &asked{number: l.number, at: request, word: s.pendingWord(t, u.Probe), says: f.Place.String() + ": the container ended before it answered"}
			switch {
			case gone && s.model.cutBefore(f): // the end of the container ended a command, and a sync of the pod ran the probe again
				if before, known := t.requestBefore(u.Probe, middle-near); known {
					under.at = before
					end(middle, under)
				}
			case gone:
				for _, before := range []time.Duration{3 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond} {
					end(request-before, nil)
					end(middle-before, nil) // a sync of the pod ran the probe
				}
			case request < middle:
				end(middle, under)
			}
		}
	}
	return list
}

// cutBefore reports whether the same probe as that of a failure failed in another way just before, as a command does that the end of its
// container ends.
func (m *model) cutBefore(f *incident.Fact) bool {
	u := incident.ParseUnhealthy(f.Message)
	return slices.ContainsFunc(m.failures(f.Container, u.Probe), func(o *incident.Fact) bool {
		before := f.When.At.Sub(o.When.At)
		return o != f && incident.ParseUnhealthy(o.Message).Result == trace.Failure && before >= 0 && before < near+o.When.Within
	})
}

// stopsAt returns edits after which an instance that the kubelet stops ends at a time, and one of the other containers lasts longer: the
// probes of a pod go on as long as one of its containers runs.
func (s *search) stopsAt(t *script, l lived, at time.Duration, pending *asked, probe trace.Probe, f *incident.Fact) []edit {
	code := 0
	for _, e := range s.model.pod.Facts {
		if e.Kind == incident.Terminated && e.Container == t.c.Name && s.model.numberOf(e) == l.number {
			code = int(max(min(e.ExitCode, 255), 0))
		}
	}
	stop := rule{fmt.Sprintf("instance: %d, afterSigterm: %s, exit: %d", l.number, value.Format(round(at-l.start-l.signal)), code), f.Place.String() + ": it had just ended then"}
	others := []string{""}
	for _, c := range s.model.containers() {
		if c.Name != t.c.Name && s.model.part(c.Name, "stop") != nil {
			others = append(others, c.Name)
		}
	}
	var list []edit
	for _, other := range others {
		list = append(list, func(m *model) {
			n := t.clone()
			if pending != nil {
				n.ask(probe, *pending)
			}
			m.take(n)
			p := m.part(t.c.Name, "stop")
			p.rules = append(slices.Clone(p.rules), stop)
			if o := m.part(other, "stop"); o != nil && other != "" {
				o.rules = append(slices.Clone(o.rules), rule{ignoresSignal.text, f.Place.String() + ": the pod still had a container then"})
			}
		})
	}
	return list
}

// editsOfAges returns edits after which all instances of a container exit a little earlier or later: the kubelet notices ends once in a
// second, so the times of starts tell the ages less exactly than the failures of probes between an end and its notice.
func (s *search) editsOfAges(t *script) []edit {
	var list []edit
	for by := -time.Second; by <= time.Second; by += 60 * time.Millisecond {
		list = append(list, func(m *model) {
			p := m.part(t.c.Name, "exits")
			rules := slices.Clone(p.rules)
			for i, r := range rules {
				m := exitAfter.FindStringSubmatchIndex(r.text)
				if m == nil {
					continue
				}
				if age, err := parseInterval(r.text[m[2]:m[3]]); err == nil && age.from+by > 0 {
					rules[i].text = r.text[:m[2]] + between(age.from+by, age.to+by) + r.text[m[3]:]
				}
			}
			p.rules = rules
		})
	}
	return list
}

// exitAfter finds the age in a rule about an exit.
var exitAfter = regexp.MustCompile(`\bafter: ([^,]+), exit: \d`)

// longestDeath is the time in which a probe may still run after the end of its container: until the kubelet has noticed it.
const longestDeath = 3 * time.Second

// codesOf returns the exit codes to try for an instance: its own, or if it did not exit by itself, that of a crash and that of an end.
func codesOf(l lived) []int {
	if l.exits {
		return []int{l.code}
	}
	return []int{1, 0}
}

// requestBefore returns when a probe runs last before a time, or would run: its runs go on in the next instance at the same distances.
func (t *script) requestBefore(probe trace.Probe, to time.Duration) (time.Duration, bool) {
	tick := period(incident.ProbeOf(t.c, probe))
	for _, a := range slices.Backward(t.series[probe]) {
		if a.at < to {
			return a.at + (to-a.at)/tick*tick, true
		}
	}
	return 0, false
}

// longestRequest is how long before a failure its request can have been sent.
func longestRequest(p *v1.Probe) time.Duration {
	return time.Duration(max(p.TimeoutSeconds, 1))*time.Second + longestDeath
}

// ask sets the answer to a run of a probe.
func (t *script) ask(probe trace.Probe, a asked) {
	all := t.series[probe]
	for i := range all {
		if all[i].number == a.number && (all[i].at-a.at).Abs() < near {
			all[i].word, all[i].says = a.word, a.says
			return
		}
	}
	i, _ := slices.BinarySearchFunc(all, a.at, func(x asked, at time.Duration) int { return cmp.Compare(x.at, at) })
	t.series[probe] = slices.Insert(all, i, a)
}

// pendingWord returns the answer to a request that is still under way when the container ends.
func (s *search) pendingWord(t *script, probe trace.Probe) string {
	if incident.ProbeOf(t.c, probe).Exec != nil {
		word, _ := lasting(probe)
		return word
	}
	return "hang"
}
