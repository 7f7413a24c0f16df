package reconstruct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/incident"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// search tries the choices of each part in turn and keeps the best.
type search struct {
	ctx      context.Context
	model    *model
	best     *attempt
	left     int
	runs     int // the maximum of all
	until    int // the number of runs that a climb leaves to the others
	tried    int
	spent    int // the work so far
	limit    int // of the work
	effort   int // the maximum of all work
	progress func(percent int)
	delay    time.Duration // from the addition of the pod to the first start, in the last run

	manifests *scenarios.Manifests        // that of the model
	claims    map[claimsOf]claimed        // of the attempts so far
	expect    map[string][]*format.Expect // loaded expectations, by their text
	scores    map[string]int              // of the attempts so far

	rejected []detoured
	found    []finalist // after each climb

	desperate bool // everything else has been tried, so that steps without a fact of their own may explain the rest
}

// rounds is the number of times that the search goes through all parts.
const rounds = 3

func (s *search) run() error {
	// The first run tells how long a start takes. The pod must live long enough for that.
	m := s.model
	deleted := m.deleted
	m.deleted, m.longer = time.Time{}, aftermath
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	s.waitForSandbox()
	for _, p := range m.parts { // the times between the first events of a container tell how long the runtime needs
		if create, start, known := s.latencies(p, p.container); p.what == "delay" && known {
			p.create, p.startup = create, start
		}
		if p.what == "stop" && m.outlasts(p.container) {
			p.rules = []rule{ignoresSignal}
		}
	}
	s.align()
	if s.best, err = s.attempt(); err != nil {
		return err
	}
	phases, err := s.phases()
	if err != nil {
		return err
	}
	m.deleted, m.longer = deleted, 0
	start := m.snapshot()
	if err := s.simply(); err != nil || s.complete() {
		return err
	}
	m.restore(start)
	if err := s.climb(); err != nil || s.complete() {
		return err
	}
	if err := s.repairSoon(); err != nil || s.complete() {
		return err
	}
	// Another way may lead further: an exit can look like a kill by a probe, and the other way round, and a probe that fails for ever like
	// another one that fails later.
	var ways []func() error
	if after, _ := m.forgotten(); !after.IsZero() { // the kubelet restarted, after which the lives of its containers have other explanations
		ways = append(ways, func() error {
			p := m.part("", "kubelet")
			try := p.try
			p.try = func(s *search, p *part) []choice {
				return slices.DeleteFunc(try(s, p), func(c choice) bool { return c.name == "none" })
			}
			if list := p.try(s, p); len(list) > 4 {
				m.choose(p, &list[4])
			}
			return nil
		})
	}
	for _, p := range phases {
		ways = append(ways, func() error {
			m.sandbox, m.uptime = p.sandbox, p.uptime
			return nil
		})
	}
	orders := []func() error{func() error {
		slices.SortStableFunc(m.parts, func(a, b *part) int { return cmp.Compare(rank(a), rank(b)) })
		return nil
	}, s.asRecorded}

	var short []func() error
	backoffs, certain := s.backoffs()
	for _, backoff := range backoffs {
		short = append(short, func() error {
			m.backoff = backoff
			return nil
		})
	}
	if certain {
		short, orders = orders, short
	}
	ways = append(append(ways, orders...), short...)
	if s.missesChange() {
		for _, uptime := range s.ages() {
			ways = append(ways, func() error {
				m.uptime = uptime
				return nil
			})
		}
	}
	ways = append(ways, func() error {
		slices.Reverse(m.parts)
		return nil
	})
	for _, prepare := range ways {
		if s.spent > s.limit {
			break
		}
		best, found := s.best, m.snapshot()
		m.restore(start)
		if err := prepare(); err != nil {
			return err
		}
		if err := s.climb(); err != nil {
			return err
		}
		s.remember()
		if best.score >= s.best.score {
			s.best = best
			m.restore(found)
		} else if m.backoff != start.model.backoff {
			start.model.backoff = m.backoff
		}
		if s.complete() {
			return nil
		}
	}
	return s.detour()
}

// detours is the maximum number of choices from which detour tries to go on.
const detours = 24

// detour takes choices that explain less by themselves, and improves the other parts after each: the best choice of a part can need another
// choice of another part.
func (s *search) detour() error {
	if len(s.best.claims)-held(s.best) > detourable {
		return nil
	}
	since := 0
	for range rounds {
		before := s.best.score
		rejected := slices.Clone(s.rejected[since:])
		since = len(s.rejected)
		slices.SortStableFunc(rejected, func(a, b detoured) int { return cmp.Compare(b.score, a.score) })
		for i := range rejected[:min(len(rejected), detours)] {
			if s.left <= 0 || s.spent > s.limit {
				return nil
			}
			best, found := s.best, s.model.snapshot()
			s.model.choose(rejected[i].part, &rejected[i].choice)
			a, err := s.attempt()
			if errors.Is(err, simulate.ErrInterrupted) {
				return err
			}
			if err == nil {
				s.best, s.until = a, s.left-detourRuns
				for _, p := range s.model.parts {
					if p == rejected[i].part {
						continue
					}
					if err := s.improve(p); err != nil {
						return err
					}
				}
			}
			if err != nil || s.best.score <= best.score {
				s.best = best
				s.model.restore(found)
			}
			if s.complete() {
				return nil
			}
		}
		if s.best.score <= before {
			return nil
		}
	}
	return nil
}

// again goes on from choices that the search rejected, as long as it may: after each, it improves the other parts and repairs the rest. The
// parts take turns, each with the best of its choices that is left.
func (s *search) again() error {
	turns, seen := map[*part]int{}, map[string]bool{}
	for !s.complete() && s.left > 0 && s.spent <= s.limit {
		d := s.nextDetour(turns, seen)
		if d == nil {
			return nil
		}
		turns[d.part]++
		best, found := s.best, s.model.snapshot()
		s.model.choose(d.part, &d.choice)
		a, err := s.attempt()
		if errors.Is(err, simulate.ErrInterrupted) {
			return err
		}
		if err == nil {
			s.best, s.until = a, max(s.left-detourRuns, 0)
			for _, p := range s.model.parts {
				if p == d.part {
					continue
				}
				if err := s.improve(p); err != nil {
					return err
				}
			}
			if err := s.repair(detourRuns, s.limit-s.spent); err != nil {
				return err
			}
		}
		if err != nil || s.best.score <= best.score {
			s.best = best
			s.model.restore(found)
		}
	}
	return nil
}

// nextDetour returns the best choice of the part that had the fewest turns, of those that it has not returned before.
func (s *search) nextDetour(turns map[*part]int, seen map[string]bool) *detoured {
	var next *detoured
	for i := range s.rejected {
		d := &s.rejected[i]
		if seen[d.key] || next != nil && (turns[d.part] > turns[next.part] || turns[d.part] == turns[next.part] && d.score <= next.score) {
			continue
		}
		next = d
	}
	if next != nil {
		seen[next.key] = true
	}
	return next
}

// detourable is the maximum number of unexplained facts for which detours are worth their time.
const detourable = 6

// detourRuns is the maximum number of runs of a detour.
const detourRuns = 150

// detoured is a choice that the search rejected, and the score of its attempt.
type detoured struct {
	part   *part
	choice choice
	score  int
	key    string // of the attempt
}

// align moves a guessed start so that a run of the probe is at the first fact.
func (s *search) align() {
	m := s.model
	if m.guessed == nil || m.guessed.When.Within > time.Second {
		return
	}
	probe := cmp.Or(m.guessed.Probe, incident.ParseUnhealthy(m.guessed.Message).Probe)
	want := m.guessed.When.At.Add(m.guessed.When.Within / 2).Sub(s.best.zero)
	var best time.Duration
	found := false
	for _, r := range s.probeRuns(m.guessed.Container, probe) {
		if by := want - r.T.Offset(); !found || by.Abs() < best.Abs() {
			best, found = by, true
		}
	}
	m.first.At = m.first.At.Add(best)
}

// asRecorded lets each probe fail exactly in the times of its recorded failures.
func (s *search) asRecorded() error {
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	for _, p := range s.model.parts {
		if rank(p) > 0 || p.what == allProbes {
			continue
		}
		if list := p.try(s, p); len(list) > 1 {
			p.rules, p.answers = list[1].rules, list[1].answers
		}
	}
	return nil
}

// rank orders the parts for the second climb: probes first.
func rank(p *part) int {
	switch trace.Probe(p.what) {
	case trace.Startup, trace.Liveness, trace.Readiness, allProbes:
		return 0
	}
	return 1
}

// climb improves the parts in turn until nothing improves.
func (s *search) climb() error {
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	s.until = s.left - max(s.left/4, 300)
	for range rounds {
		before := s.best.score
		for _, p := range s.model.parts {
			if err := s.improve(p); err != nil {
				return err
			}
		}
		if err := s.simplify(); err != nil {
			return err
		}
		if s.best.score <= before || s.complete() {
			break
		}
	}
	return nil
}

// simplify removes the rules of parts without which the run meets as many expectations, and is as close to the recording: other parts
// explain the same.
func (s *search) simplify() error {
	for _, p := range s.model.parts {
		if len(p.rules) == 0 || s.spent > s.limit {
			continue
		}
		before := *p
		p.rules, p.answers = nil, nil
		a, err := s.attempt()
		switch {
		case errors.Is(err, simulate.ErrInterrupted):
			return err
		case err == nil && held(a) >= held(s.best) && a.score >= s.best.score:
			s.best = a
		default:
			*p = before
		}
	}
	return nil
}

func held(a *attempt) int {
	n := 0
	for _, c := range a.claims {
		if c.Holds {
			n++
		}
	}
	return n
}

// complete reports whether the run explains everything.
func (s *search) complete() bool { return explainsAll(s.best) }

// explainsAll reports whether an attempt explains everything.
func explainsAll(a *attempt) bool {
	return !slices.ContainsFunc(a.claims, func(c Claim) bool { return !c.Holds })
}

// partRuns is the maximum number of runs for the choices of a part at a time.
const partRuns = 250

// concerns reports whether the best run so far lacks a fact about the container of a part, or about the pod.
func (s *search) concerns(p *part) bool {
	return slices.ContainsFunc(s.best.claims, func(c Claim) bool {
		return !c.Holds && (c.Fact.Container == p.container || c.Fact.Container == "" || strings.Contains(c.expect, "container: "+p.container+","))
	})
}

// improve tries the choices of a part.
func (s *search) improve(p *part) error {
	if rank(p) == 0 && !s.concerns(p) {
		return nil
	}
	until := max(s.until, s.left-partRuns)
	for list := p.try(s, p); len(list) > 0; {
		c := list[0]
		list = list[1:]
		if s.left <= max(until, 0) || s.spent > s.limit {
			return nil
		}
		if c.rare && s.complete() {
			continue
		}
		before := s.model.snapshot()
		s.model.choose(p, &c)
		key := fmt.Sprint(string(s.model.brief(s.model.zero(s.delay))), s.model.since)
		if score, known := s.scores[key]; known && c.next == nil && score <= s.best.score {
			s.model.restore(before)
			continue
		}
		a, err := s.attempt()
		if err == nil {
			s.scores[key] = a.score
		}
		switch {
		case errors.Is(err, simulate.ErrInterrupted):
			return err
		case err == nil && a.score > s.best.score:
			s.best = a
		default:
			s.model.restore(before)
			if err == nil && a.score > s.best.score-5000 {
				s.rejected = append(s.rejected, detoured{p, c, a.score, key})
			}
		}
		if err == nil && c.next != nil {
			if better := c.next(a); better != nil {
				list = append([]choice{*better}, list...)
			}
		}
	}
	return nil
}

// runs returns the probe runs of a container in the best run so far.
func (s *search) probeRuns(container string, probe trace.Probe) []*trace.Record {
	var list []*trace.Record
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.ProbeExecuted && r.Container == container && r.Probe == probe {
			list = append(list, r)
		}
	}
	return list
}

// startsIn returns the starts of a container in the best run so far.
func (s *search) starts(container string) []virtual.Time {
	var list []virtual.Time
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.ContainerStarted && r.Container == container {
			list = append(list, r.T)
		}
	}
	return list
}
