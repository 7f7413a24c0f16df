package reconstruct

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/scenarios/simulate"
)

// repairable is the maximum number of unexplained facts that a repair tries to explain.
const repairable = 16

// repairableSoon is the maximum number of unexplained facts that a repair tries to explain before the search tries other ways.
const repairableSoon = 6

// repairShare is the part of the runs, in percent, that each of the two repairs of a search may use at least.
const repairShare = 15

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

// finalist is a reconstruction that the search found on one of its ways.
type finalist struct {
	attempt *attempt
	state   state
}

// finalists is the number of reconstructions that the last repairs begin with, besides the best.
const finalists = 4

// repairs repairs the best reconstruction, and then the others that the search found: one that explains less by itself can be that to which
// only a step without a fact of its own is missing.
func (s *search) repairs() error {
	if err := s.repair(s.left, s.limit-s.spent); err != nil {
		return err
	}
	slices.SortStableFunc(s.found, func(a, b finalist) int { return cmp.Compare(b.attempt.score, a.attempt.score) })
	seen := map[string]bool{string(s.best.text): true}
	for _, f := range s.found {
		if s.complete() || len(seen) > finalists {
			return nil
		}
		if seen[string(f.attempt.text)] {
			continue
		}
		seen[string(f.attempt.text)] = true
		best, found := s.best, s.model.snapshot()
		if err := s.repairFound(f, s.left/2, (s.limit-s.spent)/2); err != nil {
			return err
		}
		if s.best.score <= best.score {
			s.best = best
			s.model.restore(found)
		}
	}
	return nil
}

// remember keeps the best reconstruction so far for the last repairs.
func (s *search) remember() { s.found = append(s.found, finalist{s.best, s.model.snapshot()}) }

// repairSoon repairs the best reconstruction before the search tries other ways, if it leaves only a few facts unexplained, and then the one
// with simple behaviors.
func (s *search) repairSoon() error {
	s.remember()
	if few(s.best) {
		if err := s.repair(s.runs*repairShare/100, s.effort*repairShare/100); err != nil || s.complete() {
			return err
		}
	}
	simple := s.found[0]
	if !few(simple.attempt) {
		return nil
	}
	best, found := s.best, s.model.snapshot()
	if err := s.repairFound(simple, s.runs*repairShare/100, s.effort*repairShare/100); err != nil || s.complete() {
		return err
	}
	s.best = best
	s.model.restore(found)
	clear(s.scores)
	return nil
}

// few reports whether an attempt leaves only a few facts unexplained.
func few(a *attempt) bool { return len(a.claims)-held(a) <= repairableSoon }

// repairFound repairs another reconstruction than the best.
func (s *search) repairFound(f finalist, runs, work int) error {
	s.best = f.attempt
	s.model.restore(f.state)
	clear(s.scores) // the windows of facts can be others
	return s.repair(runs, work)
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

// pairs is the number of edits from which a repair goes on although they do not help alone: those that come closest, and farther of those
// that explain all facts until a later time than before. pairRuns is the number of runs for each.
const (
	pairs    = 8
	farther  = 4
	pairRuns = 120
)

// worthwhile is the share of what is missing, as a divisor, that an edit must bring for a repair to go on without a look at the others.
const worthwhile = 20

// tried is an edit that did not help, how much was missing after it, and until when all facts were explained.
type tried struct {
	edit    edit
	missing int
	until   time.Duration
}

// closest returns the edits from which a repair goes on after a time until which all facts were explained. What follows a fact depends on
// it, so an edit that explains an earlier fact can lead further although it loses later ones.
func closest(list []tried, until time.Duration) []tried {
	slices.SortStableFunc(list, func(a, b tried) int { return cmp.Compare(a.missing, b.missing) })
	first := list[:min(len(list), pairs)]
	rest := slices.DeleteFunc(slices.Clone(list[len(first):]), func(t tried) bool { return t.until <= until })
	slices.SortStableFunc(rest, func(a, b tried) int { return cmp.Compare(b.until, a.until) })
	return append(slices.Clone(first), rest[:min(len(rest), farther)]...)
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
			a, err := s.edited(e, seen)
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
			if a != nil {
				close = append(close, tried{e, a.missing(), a.explainedUntil()})
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
			return closest(close, s.best.explainedUntil()), nil
		}
	}
}

// edited makes an edit, and keeps it if less is missing then. It returns the attempt, or nil if it had made this edit before or the result
// cannot run.
func (s *search) edited(e edit, seen map[string]bool) (*attempt, error) {
	before := s.model.snapshot()
	e(s.model)
	key := fmt.Sprint(string(s.model.brief(s.model.zero(s.delay))), s.model.since)
	if seen[key] {
		s.model.restore(before)
		return nil, nil
	}
	seen[key] = true
	a, err := s.attempt()
	if errors.Is(err, simulate.ErrInterrupted) {
		return nil, err
	}
	if err != nil {
		s.model.restore(before)
		return nil, nil
	}
	if a.missing() < s.best.missing() {
		s.best = a
	} else {
		s.model.restore(before)
	}
	return a, nil
}

// exhausted reports whether the search has done all the work that it may do.
func (s *search) exhausted() bool { return s.left <= s.until || s.spent > s.limit }
