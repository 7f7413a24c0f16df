package reconstruct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// edit is a small change of the model.
type edit func(m *model)

// edits returns changes that can close the gaps of the best run so far, those first that concern a container with a gap.
func (s *search) edits() []edit {
	gaps := s.gaps()
	var list []edit
	containers := s.model.containers()
	slices.SortStableFunc(containers, func(a, b *v1.Container) int { return cmp.Compare(countOf(gaps, b.Name), countOf(gaps, a.Name)) })
	scripts := map[string]*script{}
	for _, c := range containers {
		t := s.script(c)
		scripts[c.Name] = t
		list = append(append(append(list, editsAlike(t)...), editsOfAllLives(t)...), s.editsOfLives(t, gaps)...)
		for _, probe := range probesOf(c) {
			list = append(list, s.editsOfWindows(t, probe, gaps)...)
		}
	}
	list = append(append(append(list, s.editsOfStart(gaps)...), s.editsOfSteps(gaps, scripts)...), s.editsOfParts()...)
	for _, c := range containers {
		for _, probe := range probesOf(c) {
			list = append(list, s.editsOfRuns(scripts[c.Name], probe, gaps)...)
		}
	}
	return append(list, s.editsOfRelists(gaps)...)
}

// editsOfStart returns edits that change how long the sandbox takes, and so when the first status of the pod is, and its deadline.
func (s *search) editsOfStart(gaps []gap) []edit {
	var list []edit
	for _, g := range gaps {
		if by, known := g.shift(); known && (g.claim.Fact.Container == "" || g.claim.Fact.Reason == "Killing") {
			if longer := s.model.sandbox - by; longer > 0 && longer < time.Hour && s.possible(-by) {
				list = append(list, func(m *model) { m.sandbox = longer })
			}
		}
	}
	return list
}

// editsOfRelists returns edits that move the relists of the kubelet, in which it notices what has changed, and leave its other loops where they
// are. A relist comes a second after the end of the one before (workerLoopIteration in pkg/kubelet/pleg/generic.go, v1.37.0), so its part of a
// second depends on the whole age of the kubelet. The edits are for facts that are about a second away from their times.
func (s *search) editsOfRelists(gaps []gap) []edit {
	if !slices.ContainsFunc(gaps, func(g gap) bool { by, known := g.shift(); return known && by.Abs() < 1500*time.Millisecond }) {
		return nil
	}
	var list []edit
	age := cmp.Or(s.model.uptime, 150337*time.Millisecond) // the default of the format
	for older := 1; older <= olderKubelets; older++ {
		list = append(list, func(m *model) { m.uptime = age + time.Duration(older)*olderBy })
	}
	return list
}

// olderKubelets is the number of other ages of the kubelet that editsOfRelists tries. A relist takes some milliseconds, so its part of a second
// is about an eighth of a second later after olderBy.
const (
	olderKubelets = 8
	olderBy       = 23 * time.Second
)

// alikeLives is the number of instances whose behavior a repair gives to all instances.
const alikeLives = 3

// editsAlike returns edits after which all instances of a container answer their probes as one of them does.
func editsAlike(t *script) []edit {
	var list []edit
	for _, l := range t.lives[:min(len(t.lives), alikeLives)] {
		if len(t.lives) == 1 {
			break
		}
		of := instances(l.number, l.number)
		for _, exits := range []bool{false, true} {
			list = append(list, func(m *model) {
				n := t.clone()
				for i := range n.lives {
					n.lives[i].exits = n.lives[i].exits && exits
				}
				m.take(n)
				for _, probe := range probesOf(t.c) {
					p := m.part(t.c.Name, string(probe))
					var rules []rule
					for _, r := range p.rules {
						if text, is := strings.CutPrefix(r.text, of); is {
							rules = append(rules, rule{text, r.comment})
						} else if !strings.HasPrefix(r.text, "instance: ") {
							rules = append(rules, r)
						}
					}
					p.rules = rules
				}
			})
		}
	}
	return list
}

// editsOfAllLives returns edits after which all instances of a container exit at the same age, as one of them does, with the syncs and the
// back-offs of the best run so far and with those of the default.
func editsOfAllLives(t *script) []edit {
	var list []edit
	for _, l := range t.lives[:min(len(t.lives), mostAlike)] {
		if !l.exits || len(t.lives) == 1 {
			continue
		}
		exit := rule{fmt.Sprintf("after: %s, exit: %d", value.Format(max(round(l.took), time.Millisecond)), l.code), cmp.Or(l.says, "All instances are assumed to be alike.")}
		for _, defaults := range []bool{false, true} {
			list = append(list, func(m *model) {
				m.part(t.c.Name, "exits").rules = []rule{exit}
				if defaults {
					m.resync, m.backoff = 0, ""
				}
			})
		}
	}
	return list
}

// mostAlike is the number of instances whose age at the exit a repair gives to all instances.
const mostAlike = 6

// editsOfLives returns edits that change when the instances of a container exit.
func (s *search) editsOfLives(t *script, gaps []gap) []edit {
	var list []edit
	add := func(change func(t *script)) {
		list = append(list, func(m *model) {
			n := t.clone()
			change(n)
			m.take(n)
		})
	}
	add(func(*script) {})    // with the recorded exit codes
	for _, g := range gaps { // an instance that was stopped exited with another code, or at another time
		f := g.claim.Fact
		if f.Kind != incident.Terminated || !g.about(t.c.Name) || !f.Last.Known() {
			continue
		}
		l := t.life(s.model.numberOf(f))
		if l == nil || l.signal == 0 {
			continue
		}
		for _, took := range []time.Duration{l.took - l.signal, f.Last.Best().Sub(s.best.zero) - l.start - l.signal, f.Last.At.Sub(s.best.zero) - l.start - l.signal} {
			if took >= 0 {
				stop := rule{fmt.Sprintf("instance: %d, afterSigterm: %s, exit: %d", l.number, value.Format(round(took)), max(min(f.ExitCode, 255), 0)),
					fmt.Sprintf("%s: it exited with code %d after the stop signal", f.Place, f.ExitCode)}
				list = append(list, func(m *model) {
					p := m.part(t.c.Name, "stop")
					p.rules = append(slices.Clone(p.rules), stop)
				})
			}
		}
	}
	list = append(list, s.editsOfDeaths(t, gaps)...)
	var shifts, moments []time.Duration
	for _, g := range gaps {
		for _, by := range g.shifts() {
			if !slices.Contains(shifts, by) {
				shifts = append(shifts, by)
			}
		}
		moments = append(moments, g.from+(g.to-g.from)/2)
	}
	for _, by := range []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second} {
		shifts = append(shifts, by, -by)
	}
	for i := len(t.lives) - 1; i >= 0; i-- {
		l := t.lives[i]
		if l.exits {
			for _, by := range shifts {
				add(func(t *script) { t.lives[i].took = max(t.lives[i].took+by, time.Millisecond) })
				if i+1 < len(t.lives) && t.lives[i+1].exits {
					add(func(t *script) {
						t.lives[i].took, t.lives[i+1].took = max(t.lives[i].took+by, time.Millisecond), max(t.lives[i+1].took-by, time.Millisecond)
					})
				}
			}
			add(func(t *script) { t.lives[i].exits = false })
			continue
		}
		for _, at := range moments {
			for _, before := range []time.Duration{50 * time.Millisecond, 700 * time.Millisecond} {
				if took := at - before - l.start; took > 0 && took < l.took {
					for _, code := range []int{1, 0} {
						add(func(t *script) { t.lives[i].exits, t.lives[i].took, t.lives[i].code = true, took, code })
					}
				}
			}
		}
	}
	return list
}

// words returns the answers that a run of a probe can have got: an immediate ok, and those of the recorded failures.
func (s *search) words(t *script, probe trace.Probe) []asked {
	words := []asked{{}}
	for _, o := range s.outages(t.c, probe) {
		words = append(words, asked{word: o.word, says: o.says})
	}
	if s.model.noisy("Warning") { // there can be failures of other kinds, whose events the kubelet dropped
		words = append(words, asked{word: "fail", says: unrecordedFailure})
	}
	return words
}

// answered returns an edit that changes what the runs of a probe get.
func answered(t *script, probe trace.Probe, change func(all []asked)) edit {
	return func(m *model) {
		n := t.clone()
		change(n.series[probe])
		m.take(n)
	}
}

// editsOfWindows returns edits after which all runs of a probe in the window of a gap fail, and edits after which the probe answers so late
// that what follows is as late as recorded.
func (s *search) editsOfWindows(t *script, probe trace.Probe, gaps []gap) []edit {
	var list []edit
	p := incident.ProbeOf(t.c, probe)
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	for _, g := range gaps {
		concerned := g.concerns(t.c.Name, probe)
		if concerned || probe == trace.Startup && isInit(s.model.object, t.c) { // the next container starts when this one has started
			for _, by := range g.shifts() {
				if by.Abs() < timeout {
					list = append(list, slower(t, probe, by, g.claim.Fact.Place.String()+": what follows this answer is as late"))
				}
			}
		}
		if !concerned {
			continue
		}
		from := g.from - time.Second
		if f := g.claim.Fact; f.Reason == "Killing" && incident.ParseKilling(f.Message) == causes[probe] { // the runs that led to it
			from -= time.Duration(max(p.FailureThreshold, 1)-1)*period(p) + timeout
		}
		for _, w := range s.words(t, probe)[1:] {
			list = append(list, answered(t, probe, func(all []asked) {
				for i := range all {
					if all[i].word == "" && all[i].at >= from && all[i].at <= g.to {
						all[i].word, all[i].says = w.word, w.says
					}
				}
			}))
		}
	}
	return list
}

// slower returns an edit after which a probe gets its answers later, or sooner if by is negative. The other probes of the container run as
// much later after a startup probe that is slower.
func slower(t *script, probe trace.Probe, by time.Duration, says string) edit {
	return func(m *model) {
		n := t.clone()
		all := n.series[probe]
		for i, a := range all {
			took, slow := tookOf(a.word)
			switch took = round(took + by); {
			case a.word != "" && !slow:
			case took > slowAfter:
				all[i].word, all[i].says = "ok in "+value.Format(took), says
			default:
				all[i].word, all[i].says = "", ""
			}
		}
		for _, other := range probesOf(t.c) {
			if probe == trace.Startup && other != probe {
				for i := range n.series[other] {
					n.series[other][i].at += by
				}
			}
		}
		m.take(n)
	}
}

// tookOf returns how long the program needs for an answer that is ok, if that is slow.
func tookOf(word string) (took time.Duration, slow bool) {
	text, slow := strings.CutPrefix(word, "ok in ")
	if !slow || word == late {
		return 0, false
	}
	took, err := value.ParseDuration(text)
	return took, err == nil
}

// editsOfRuns returns edits that change what single runs of a probe get, or the rest of the runs of an instance.
func (s *search) editsOfRuns(t *script, probe trace.Probe, gaps []gap) []edit {
	all, words := t.series[probe], s.words(t, probe)
	tick := period(incident.ProbeOf(t.c, probe))
	var list []edit
	for i := range all {
		near := slices.ContainsFunc(gaps, func(g gap) bool {
			return g.concerns(t.c.Name, probe) && all[i].at > g.from-4*tick && all[i].at < g.to+tick
		})
		if !near {
			continue
		}
		for _, w := range words {
			if w.word == all[i].word {
				continue
			}
			rows := [][2]int{{i, i}, {i, lastOfLife(all, i)}, {firstOfLife(all, i), i}}
			for k, row := range rows {
				if k == 0 || row != rows[0] {
					list = append(list, answered(t, probe, func(all []asked) {
						for k := row[0]; k <= row[1]; k++ {
							all[k].word, all[k].says = w.word, w.says
						}
					}))
				}
			}
		}
		if i+1 < len(all) && all[i].word != all[i+1].word { // the border between two rows moves, and so does the other end of a row
			list = append(list, answered(t, probe, func(all []asked) {
				all[i].word, all[i].says, all[i+1].word, all[i+1].says = all[i+1].word, all[i+1].says, all[i].word, all[i].says
			}))
		}
	}
	return list
}

// lastOfLife returns the index of the last run in the instance of a run.
func lastOfLife(all []asked, i int) int {
	for i+1 < len(all) && all[i+1].number == all[i].number {
		i++
	}
	return i
}

// firstOfLife returns the index of the first run in the instance of a run.
func firstOfLife(all []asked, i int) int {
	for i > 0 && all[i-1].number == all[i].number {
		i--
	}
	return i
}

// editsOfParts returns the choices of the parts that are not about exits and probes.
func (s *search) editsOfParts() []edit {
	var list []edit
	for _, p := range s.model.parts {
		if rank(p) == 0 || p.what == "exits" {
			continue
		}
		for _, c := range p.try(s, p) {
			list = append(list, func(m *model) { m.choose(m.part(p.container, p.what), &c) })
		}
	}
	return list
}
