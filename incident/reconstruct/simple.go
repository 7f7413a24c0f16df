package reconstruct

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/simulate"
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
func better(a, b *attempt) bool { return compareAttempts(a, b) > 0 }

// compareAttempts compares how much two attempts explain.
func compareAttempts(a, b *attempt) int {
	return cmp.Or(cmp.Compare(held(a), held(b)), cmp.Compare(a.score, b.score))
}

// addSimple returns the best simple behaviors of a container that explain more than none, those that differ in their times only as one: the
// only ones, or those besides another, such as a container that exits at some age and fails its probes before that.
func (s *search) addSimple(c *v1.Container, besides *behavior) ([]simpleFound, error) {
	before, none, seen := s.model.snapshot(), s.best, map[string]bool{}
	var list []simpleFound
	try := func(b behavior) error {
		if s.left <= 0 || s.spent > s.limit || besides != nil && b.does == besides.does {
			return nil
		}
		if besides != nil && besides.what != "exits" {
			b.stop = besides.stop
		}
		key := b.text() + fmt.Sprint(b.stop)
		if seen[key] {
			return nil
		}
		seen[key] = true
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
	slices.SortStableFunc(list, func(a, b simpleFound) int { return compareAttempts(b.attempt, a.attempt) })
	list = list[:min(len(list), simpleWays)]
	for i := range list {
		for _, stop := range s.simpleStops(c) {
			b := list[i].behavior
			b.stop = stop
			if err := try(b); err != nil {
				return nil, err
			}
		}
		for step := list[i].behavior.step / 2; step >= 50*time.Millisecond && !explainsAll(list[i].attempt); step /= 2 {
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
