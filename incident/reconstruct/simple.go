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

// behavior is a simple behavior of a container: one rule for its probes or its exits, and one for how it stops.
type behavior struct {
	what    string // the part
	whose   string // the instances, before the other fields; nothing: all
	clock   string // after or at; nothing: from the start on
	from    time.Duration
	length  time.Duration // 0: for ever
	does    string
	says    string
	answers []string
	stop    []rule
	step    time.Duration // from and length are as exact as this
}

// simpleShare is the work, in percent of that of a search, that may go into simple behaviors.
const simpleShare = 15

// simply looks for an explanation that begins with a simple behavior. If all instances of a container are alike, the times of their starts
// follow, except for the random delays of the kubelet: the windows of facts include these. If there is no such explanation, the search goes on
// without that allowance, with instances that differ.
func (s *search) simply() error {
	m, limit, left := s.model, s.limit, s.left
	s.limit = s.spent + limit*simpleShare/100
	defer func() { s.limit = limit }()
	m.retries = true
	err := s.simple()
	if err == nil && !s.complete() && held(s.best)*4 >= len(s.best.claims)*3 {
		err = s.climb()
	}
	if err != nil || s.complete() {
		return err
	}
	s.remember()
	m.retries, s.rejected, s.left = false, nil, left
	clear(s.scores)
	return nil
}

// simple tries the behaviors that most incidents have, before the search for others: the program fails for a time, as it does if something
// that it needs is away; in each instance it fails its probes from the same age on, or exits at the same age; or each start takes as long.
// It keeps the best behavior of each container: of two that explain as much, the first.
func (s *search) simple() error {
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	for _, c := range s.model.containers() {
		before, none := s.model.snapshot(), s.best
		best, found := none, before
		ones, err := s.addSimple(c, nil)
		for _, one := range ones {
			if err != nil || s.complete() {
				break
			}
			s.best = one.attempt
			s.model.restore(one.state)
			var both []simpleFound
			both, err = s.addSimple(c, &one.behavior)
			for _, f := range append([]simpleFound{one}, both...) {
				if better(f.attempt, best) {
					best, found = f.attempt, f.state
				}
			}
			s.best = best
		}
		s.best = best
		s.model.restore(found)
		if err != nil {
			return err
		}
	}
	return nil
}

// simpleFound is a simple behavior that explains something.
type simpleFound struct {
	behavior behavior
	finalist
}

// simpleWays is the number of simple behaviors of a container besides which the search tries another one.
const simpleWays = 3

// better reports whether an attempt explains more than another.
func better(a, b *attempt) bool {
	return cmp.Or(cmp.Compare(held(a), held(b)), cmp.Compare(a.score, b.score)) > 0
}

// addSimple returns the best simple behaviors of a container that explain more than none, those that differ in their times only as one: the
// only ones, or those besides another, such as a container that exits at some age and fails its probes before that.
func (s *search) addSimple(c *v1.Container, besides *behavior) ([]simpleFound, error) {
	before, none, tried := s.model.snapshot(), s.best, map[string]bool{}
	var list []simpleFound
	try := func(b behavior) error {
		if s.left <= 0 || s.spent > s.limit || besides != nil && b.does == besides.does {
			return nil
		}
		if besides != nil && besides.what != "exits" {
			b.stop = besides.stop
		}
		key := b.text() + fmt.Sprint(b.stop)
		if tried[key] {
			return nil
		}
		tried[key] = true
		s.model.restore(before)
		s.model.behave(c, &b)
		a, err := s.attempt()
		if errors.Is(err, simulate.ErrInterrupted) {
			return err
		}
		if err != nil || held(a) <= held(none) {
			return nil // a behavior that cannot be simulated is no explanation
		}
		one := simpleFound{b, finalist{a, s.model.snapshot()}}
		i := slices.IndexFunc(list, func(o simpleFound) bool { return b.like(&o.behavior) })
		switch {
		case i < 0:
			list = append(list, one)
		case better(a, list[i].attempt):
			list[i] = one
		}
		return nil
	}
	for _, b := range s.simpleBehaviors(c) {
		if err := try(b); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b simpleFound) int {
		return cmp.Or(cmp.Compare(held(b.attempt), held(a.attempt)), cmp.Compare(b.attempt.score, a.attempt.score))
	})
	list = list[:min(len(list), simpleWays)]
	for i := range list {
		for _, stop := range s.simpleStops(c) {
			b := list[i].behavior
			b.stop = stop
			if err := try(b); err != nil {
				return nil, err
			}
		}
		for step := list[i].behavior.step / 2; step >= 50*time.Millisecond && !whole(list[i].attempt); step /= 2 {
			for _, b := range list[i].behavior.neighbors(step) {
				if err := try(b); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// behave adds a behavior to a container.
func (m *model) behave(c *v1.Container, b *behavior) {
	p := m.part(c.Name, b.what)
	p.rules, p.answers = append(slices.Clone(p.rules), rule{b.text(), b.says}), append(slices.Clone(p.answers), b.answers...)
	if stop := m.part(c.Name, "stop"); stop != nil {
		stop.rules = b.stop
	}
}

// like reports whether two behaviors differ in their times only.
func (b *behavior) like(o *behavior) bool {
	return b.what == o.what && b.whose == o.whose && b.clock == o.clock && b.does == o.does && (b.length > 0) == (o.length > 0)
}

// text returns the rule of a behavior.
func (b *behavior) text() string {
	text := b.whose
	if b.clock != "" {
		text += fmt.Sprintf("%s: %s, ", b.clock, value.Format(round(b.from)))
	}
	if b.length > 0 {
		text += fmt.Sprintf("for: %s, ", value.Format(round(b.length)))
	}
	return text + b.does
}

// neighbors returns behaviors that begin or end a step earlier or later.
func (b behavior) neighbors(step time.Duration) []behavior {
	var list []behavior
	for _, by := range []time.Duration{-step, step} {
		if b.clock != "" && b.from+by >= 0 {
			x := b
			x.from += by
			list = append(list, x)
		}
		if b.length+by > 0 && b.length > 0 {
			x := b
			x.length += by
			list = append(list, x)
		}
	}
	return list
}

// simpleBehaviors returns the simple behaviors of a container that the recorded facts suggest.
func (s *search) simpleBehaviors(c *v1.Container) []behavior {
	var list []behavior
	stops := s.simpleStops(c)
	add := func(b behavior) {
		b.stop = stops[0]
		list = append(list, b)
	}
	for _, f := range s.failings(c) {
		b := behavior{what: f.what, does: fmt.Sprintf("%s: %s", f.what, f.word), says: f.says, answers: f.answers}
		for _, from := range f.began.grid(3) {
			for _, end := range append((interval{f.last + time.Millisecond, f.last + f.tick}).grid(4), s.recovery(f).grid(4)...) {
				b.clock, b.from, b.length, b.step = "at", from, end-from, f.tick/4
				add(b)
			}
		}
		b.length = 0
		age := s.ageOf(c, f)
		for _, from := range age.grid(7) {
			b.clock, b.from, b.step = "after", from, (age.to-age.from)/7
			add(b)
		}
		b.clock, b.from = "", 0
		for _, length := range append(lengths(f.last-f.began.from), 0) {
			b.length, b.step = length, length/4
			add(b)
		}
	}
	if age, code, says := s.exitAge(c); !age.empty() {
		for _, whose := range s.whichExit(c) {
			for _, from := range age.grid(7) {
				list = append(list, behavior{what: "exits", whose: whose, clock: "after", from: from, step: (age.to - age.from) / 7, does: fmt.Sprintf("exit: %d", code), says: says})
			}
		}
	}
	if age, says := s.backOffAge(c); !age.empty() {
		for _, whose := range s.whichExit(c) {
			for _, code := range []int{1, 0} {
				for _, from := range age.grid(3) {
					list = append(list, behavior{what: "exits", whose: whose, clock: "after", from: from, step: (age.to - age.from) / 3, does: fmt.Sprintf("exit: %d", code), says: says})
				}
			}
		}
	}
	return list
}

// whichExit returns which instances of a container can exit by themselves: all, those that have ended, or those that no probe killed.
func (s *search) whichExit(c *v1.Container) []string {
	list := []string{""}
	n, kills := s.model.restarts(c.Name), s.model.kills(c.Name, trace.Liveness)+s.model.kills(c.Name, trace.Startup)
	for _, last := range []int{n - 1, n - kills - 1, n - kills} {
		whose := fmt.Sprintf("instance: ..%d, ", last)
		if (last < n-1 || kills == 0) && last >= 0 && last < n && !slices.Contains(list, whose) {
			list = append(list, whose)
		}
	}
	return list
}

// backOffAge returns the age at which each of the first two instances can have exited, if both are alike: the first back-off follows the
// second exit by up to a second or two.
func (s *search) backOffAge(c *v1.Container) (age interval, says string) {
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "BackOff" && f.Container == c.Name && f.When.Known() && !f.AtLeast && len(starts) > 0 {
			both := f.When.Best().Sub(s.best.zero) - starts[0].Offset()
			return interval{max(both-3*time.Second, 0) / 2, both / 2}, fmt.Sprintf("%s: the first back-off follows the second exit.", f.Place)
		}
	}
	return interval{1, 0}, ""
}

// grid returns n times from the beginning to the end of a range, or one if it is less than a millisecond long, or none if it is empty.
func (b interval) grid(n int) []time.Duration {
	switch {
	case b.empty():
		return nil
	case b.to-b.from < time.Millisecond:
		return []time.Duration{b.from}
	}
	var list []time.Duration
	for i := range n {
		list = append(list, b.from+(b.to-b.from)*time.Duration(2*i+1)/time.Duration(2*n))
	}
	return list
}

// failing is one way in which the probes of a container, or one of them, failed.
type failing struct {
	what    string // the part: a probe, or allProbes
	probes  []trace.Probe
	word    string
	answers []string
	began   interval // the time at which the program can have begun to fail all of them
	last    time.Duration
	tick    time.Duration // the shortest period
	says    string
}

// failings returns the ways in which the probes of a container failed: those that several probes share come first.
func (s *search) failings(c *v1.Container) []failing {
	var kinds []string
	shared := map[string]*failing{}
	var single []failing
	for _, probe := range probesOf(c) {
		tick := period(incident.ProbeOf(c, probe))
		seen := map[string]bool{}
		for _, o := range s.outages(c, probe) {
			kind := commonWord(o)
			began := interval{max(o.began.from-tick, 0), max(o.began.to, 0)}
			one := failing{what: string(probe), probes: []trace.Probe{probe}, word: o.word, began: began, last: o.last, tick: tick, says: o.says}
			if o.answer != "" {
				one.answers = []string{o.answer}
			}
			single = append(single, one)
			all := shared[kind]
			switch {
			case all == nil:
				one.what = allProbes
				if o.answer == "" {
					one.word = kind
				}
				shared[kind] = &one
				kinds = append(kinds, kind)
			case !seen[kind]:
				all.probes = append(all.probes, probe)
				all.began.narrow(began.from, began.to)
				all.last, all.tick, all.says = max(all.last, o.last), min(all.tick, tick), all.says+". "+o.says
			}
			seen[kind] = true
		}
	}
	var list []failing
	for _, kind := range kinds {
		if f := shared[kind]; len(f.probes) > 1 {
			list = append(list, *f)
		}
	}
	return append(list, single...)
}

// recovery returns when the program can have recovered: the pod became ready after the last recorded failure, of which later ones can be
// missing. The range is empty if nothing tells.
func (s *search) recovery(f failing) interval {
	for _, o := range s.model.pod.Facts {
		if at := o.When.At.Sub(s.best.zero); o.Kind == incident.Condition && o.Reason == "Ready" && o.Value == "True" && o.When.Known() && at > f.last {
			return interval{max(at-f.tick, f.last), at + o.When.Within}
		}
	}
	return interval{1, 0}
}

// ageOf returns the age at which each instance can begin to fail, if all are alike: the first failures tell it, and the kill of an instance
// whose start is recorded.
func (s *search) ageOf(c *v1.Container, f failing) interval {
	start := f.began.to - s.since(c, f.began.to)
	age := interval{max(f.began.from-start, 0), f.began.to - start}
	for _, probe := range f.probes {
		p := incident.ProbeOf(c, probe)
		if cause, kills := causes[probe]; kills {
			for _, k := range s.model.pod.Facts {
				if k.Kind == incident.Event && k.Reason == "Killing" && k.Container == c.Name && k.Last.Known() && incident.ParseKilling(k.Message) == cause {
					if life, known := s.lifeUntil(c, k.Last); known {
						least := life.from - time.Duration(max(p.FailureThreshold, 1))*period(p) - time.Duration(max(p.TimeoutSeconds, 1))*time.Second
						both := age
						if both.narrow(least, life.to-time.Duration(max(p.FailureThreshold, 1)-1)*period(p)); !both.empty() {
							age = both
						}
					}
				}
			}
		}
	}
	return age
}

// lifeUntil returns how long an instance had run at a recorded moment, if its start is recorded to the second.
func (s *search) lifeUntil(c *v1.Container, at incident.Moment) (interval, bool) {
	var life interval
	known := false
	for _, start := range s.model.recordedStarts(c) {
		if start.at.Within <= time.Second && start.at.At.Before(at.At) {
			life, known = interval{at.At.Sub(start.at.End()), at.End().Sub(start.at.At)}, true
		}
	}
	return life, known
}

// exitAge returns the age at which each instance can have exited, if all are alike, and the exit code.
func (s *search) exitAge(c *v1.Container) (age interval, code int32, says string) {
	age = interval{0, maxDuration}
	for _, f := range s.model.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.When.Known() || !f.Last.Known() {
			continue
		}
		age.narrow(f.Last.At.Sub(f.When.End()), f.Last.End().Sub(f.When.At))
		code, says = max(min(f.ExitCode, 255), 0), fmt.Sprintf("%s: instance %d exited with code %d. All instances are assumed to be like it.", f.Place, s.model.numberOf(f), f.ExitCode)
	}
	if says == "" {
		return interval{1, 0}, 0, ""
	}
	return age, code, says
}

// simpleStops returns how the program can react to the stop signal, from what is recorded about its ends.
func (s *search) simpleStops(c *v1.Container) [][]rule {
	stops := tryStop(s, c)
	if len(stops) == 1 { // nothing stopped it
		return [][]rule{nil}
	}
	list := [][]rule{nil, {ignoresSignal}}
	for _, f := range s.model.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.Last.Known() {
			continue
		}
		switch f.ExitCode {
		case 137: // SIGKILL
			return list[1:]
		case 143: // SIGTERM
			list = list[:1]
		default:
			list = nil
		}
		for _, stop := range stops {
			if len(stop.rules) > 0 && strings.HasSuffix(stop.rules[0].text, fmt.Sprintf(", exit: %d", f.ExitCode)) && len(list) < 3 {
				list = append(list, stop.rules)
			}
		}
		if len(list) == 0 { // it exited by itself
			list = [][]rule{nil}
		}
		return list
	}
	return list
}
