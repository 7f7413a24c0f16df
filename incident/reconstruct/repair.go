package reconstruct

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// repairable is the maximum number of unexplained facts that a repair tries to explain.
const repairable = 16

// repairableSoon is the maximum number of unexplained facts that a repair tries to explain before the search tries other ways.
const repairableSoon = 6

// repairShare is the part of the runs, in percent, that each of the two repairs of a search may use at least.
const repairShare = 25

// edit is a small change of the model.
type edit func(m *model)

// repair changes the best reconstruction where it leaves facts unexplained: what one instance of a container does, or what happens once.
// The choices of the parts are simple, and the same for many instances. What happened was not always that simple.
func (s *search) repair(runs, work int) error {
	if s.complete() || len(s.best.claims)-held(s.best) > repairable {
		return nil
	}
	best, found := s.best, s.model.snapshot()
	limit := s.limit
	s.until, s.limit = max(s.left-runs, 0), min(limit, s.spent+work)
	defer func() { s.limit = limit }()
	if err := s.mend(); err != nil {
		return err
	}
	if s.best.score <= best.score {
		s.best = best
		s.model.restore(found)
	}
	return nil
}

// mend takes edits after which fewer facts are missing, or missing by less, until there are none. Then it goes on from the edits that come
// closest: two of them together may help where neither does alone.
func (s *search) mend() error {
	seen := map[string]bool{}
	for {
		close, err := s.descend(seen, s.left)
		if err != nil || s.complete() || s.exhausted() {
			return err
		}
		better := false
		for _, c := range close {
			best, found := s.best, s.model.snapshot()
			c.edit(s.model)
			a, err := s.attempt()
			if errors.Is(err, simulate.ErrInterrupted) {
				return err
			}
			if err == nil {
				s.best = a
				if _, err := s.descend(seen, pairRuns); err != nil {
					return err
				}
				if better = s.best.missing() < best.missing(); better {
					break
				}
			}
			s.best = best
			s.model.restore(found)
		}
		if !better || s.complete() {
			return nil
		}
	}
}

// pairs is the number of edits from which a repair goes on although they do not help alone, and pairRuns is the number of runs for each.
const (
	pairs    = 8
	pairRuns = 120
)

// worthwhile is the share of what is missing, as a divisor, that an edit must bring for a repair to go on without a look at the others.
const worthwhile = 20

// tried is an edit that did not help, and how much was missing after it.
type tried struct {
	edit    edit
	missing int
}

// descend takes each edit that helps, until none does. It returns those that come closest then.
func (s *search) descend(seen map[string]bool, runs int) ([]tried, error) {
	until := max(s.left-runs, s.until)
	for {
		var close []tried
		better := false
		start, found := s.best, s.model.snapshot()
		var best *attempt // after the edit that helps most
		var after state
		edits := s.edits()
		for _, e := range edits {
			if s.left <= until || s.exhausted() {
				break
			}
			missing, err := s.edited(e, seen)
			if err != nil {
				return nil, err
			}
			if better = s.best != start; better {
				if best == nil || s.best.missing() < best.missing() {
					best, after = s.best, s.model.snapshot()
				}
				s.best = start
				s.model.restore(found)
				if (start.missing()-best.missing())*worthwhile >= start.missing() {
					break
				}
			}
			if missing >= 0 {
				close = append(close, tried{e, missing})
			}
		}
		if better = best != nil; better {
			s.best = best
			s.model.restore(after)
		}
		if s.left <= until || s.exhausted() {
			return close, nil
		}
		if !better || s.complete() {
			slices.SortStableFunc(close, func(a, b tried) int { return cmp.Compare(a.missing, b.missing) })
			return close[:min(len(close), pairs)], nil
		}
	}
}

// exhausted reports whether the search has done all the work that it may do.
func (s *search) exhausted() bool { return s.left <= s.until || s.spent > s.limit }

// edited makes an edit, and keeps it if less is missing then. It returns how much is, or -1 if it had made this edit before.
func (s *search) edited(e edit, seen map[string]bool) (int, error) {
	before := s.model.snapshot()
	e(s.model)
	key := fmt.Sprint(string(s.model.brief(s.model.zero(s.delay))), s.model.since)
	if seen[key] {
		s.model.restore(before)
		return -1, nil
	}
	seen[key] = true
	a, err := s.attempt()
	if errors.Is(err, simulate.ErrInterrupted) {
		return 0, err
	}
	if err != nil {
		s.model.restore(before)
		return -1, nil
	}
	missing := a.missing()
	if missing < s.best.missing() {
		s.best = a
	} else {
		s.model.restore(before)
	}
	return missing, nil
}

// gap is an expectation that the best run so far does not meet.
type gap struct {
	claim    *Claim
	from, to time.Duration   // its window
	times    []time.Duration // of the records that it looks for
	few      bool            // there should be more of them in the window
	many     bool            // there should be fewer
}

// gaps returns the unmet expectations of the best run so far.
func (s *search) gaps() []gap {
	var list []gap
	for i := range s.best.claims {
		if s.best.claims[i].Holds {
			continue
		}
		e := s.best.run.Results[i].Expect
		w := e.Window()
		g := gap{claim: &s.best.claims[i], from: max(w.Min, 0), to: min(w.Max, s.best.plan.Duration), times: s.best.offsets(e)}
		inside := 0
		for _, t := range g.times {
			if distance(t, g.from, g.to) == 0 {
				inside++
			}
		}
		g.few = e.Count == nil || inside < e.Count.Min
		g.many = e.Count != nil && inside > e.Count.Max
		list = append(list, g)
	}
	return list
}

// shift returns by how much later the nearest record should be, if there is one.
func (g *gap) shift() (time.Duration, bool) {
	middle := g.from + (g.to-g.from)/2
	var best time.Duration
	found := false
	for _, t := range g.times {
		if by := middle - t; !found || by.Abs() < best.Abs() {
			best, found = by, true
		}
	}
	return best, found && best != 0
}

// edits returns changes that can close the gaps of the best run so far, those first that concern a container with a gap.
func (s *search) edits() []edit {
	gaps := s.gaps()
	var list []edit
	containers := s.model.containers()
	slices.SortStableFunc(containers, func(a, b *v1.Container) int { return cmp.Compare(countOf(gaps, b.Name), countOf(gaps, a.Name)) })
	var scripts []*script
	for _, c := range containers {
		t := s.script(c)
		scripts = append(scripts, t)
		list = append(list, s.editsOfLives(t, gaps)...)
		for _, probe := range probesOf(c) {
			list = append(list, s.editsOfWindows(t, probe, gaps)...)
		}
	}
	list = append(append(list, s.editsOfStart(gaps)...), s.editsOfParts()...)
	for _, t := range scripts {
		for _, probe := range probesOf(t.c) {
			list = append(list, s.editsOfRuns(t, probe, gaps)...)
		}
	}
	return list
}

// editsOfStart returns edits that change how long the sandbox takes, and so when the first status of the pod is.
func (s *search) editsOfStart(gaps []gap) []edit {
	var list []edit
	for _, g := range gaps {
		if by, known := g.shift(); known && g.claim.Fact.Container == "" {
			if longer := s.model.sandbox - by; longer > 0 && longer < time.Hour {
				list = append(list, func(m *model) { m.sandbox = longer })
			}
		}
	}
	return list
}

func (m *model) containers() []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

func (g *gap) about(container string) bool {
	return g.claim.Fact.Container == container || strings.Contains(g.claim.expect, "container: "+container+",")
}

func countOf(gaps []gap, container string) int {
	n := 0
	for _, g := range gaps {
		if g.about(container) {
			n++
		}
	}
	return n
}

// part returns a part of the model.
func (m *model) part(container, what string) *part {
	for _, p := range m.parts {
		if p.container == container && p.what == what {
			return p
		}
	}
	return nil
}

// take gives the model the behavior of a script: its exits and the answers to its probes. What follows a stop signal stays as it is.
func (m *model) take(t *script) {
	if p := m.part(t.c.Name, "exits"); p != nil {
		p.rules = t.exits()
	}
	for _, probe := range probesOf(t.c) {
		if p := m.part(t.c.Name, string(probe)); p != nil {
			stop := slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return !strings.Contains(r.text, "afterSigterm: ") })
			p.rules = append(t.answers(probe), stop...)
			p.answers = t.definitions[probe]
		}
	}
}

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
	var shifts, moments []time.Duration
	for _, g := range gaps {
		if by, known := g.shift(); known {
			shifts = append(shifts, by)
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

// concerns reports whether a probe of a container can close a gap.
func (g *gap) concerns(container string, probe trace.Probe) bool {
	return g.about(container) || g.claim.Fact.Container == "" && probe == trace.Readiness
}

// editsOfWindows returns edits after which all runs of a probe in the window of a gap fail, and edits after which the probe answers so late
// that what follows is as late as recorded.
func (s *search) editsOfWindows(t *script, probe trace.Probe, gaps []gap) []edit {
	var list []edit
	p := incident.ProbeOf(t.c, probe)
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	for _, g := range gaps {
		if !g.concerns(t.c.Name, probe) {
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
		if by, known := g.shift(); known && by > slowAfter && by < timeout {
			says := g.claim.Fact.Place.String() + ": what follows this answer is as late"
			list = append(list, answered(t, probe, func(all []asked) {
				for i := range all {
					if all[i].word == "" {
						all[i].word, all[i].says = "ok in "+value.Format(round(by)), says
					}
				}
			}))
		}
	}
	return list
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
