package bounds

import "time"

// goal is the bound that a search looks for, if both of its ends are derived. The search then needs only a case close to each end.
type goal struct {
	least, greatest time.Duration
	within          time.Duration // how close is close enough
	spent           func() bool   // reports whether the search has made mostRuns runs; nil: it may make any number
}

// mostRuns is the number of runs after which a search that has not found its goal gives up. The ends are the derived ones then too, and are as good as
// those of a longer search, but the runs that show them are not as close.
const mostRuns = 500

// derived returns a goal. A search that needs only the ends does not look for cases close to them, and one that searches on never finds the
// goal, and never gives up.
func (s *Subject) derived(least, greatest, within time.Duration) *goal {
	g := &goal{least: least, greatest: greatest, within: within}
	switch {
	case s.searchesOn:
		g.within = -2 * horizon
		return g
	case s.EndsOnly:
		g.within = 2 * horizon
	}
	last := s.Runs + mostRuns
	g.spent = func() bool { return s.Runs > last }
	return g
}

// sharing returns another goal for a part of the search, which ends when the search has to give up. A nil goal never has to.
func (g *goal) sharing(other goal) *goal {
	if g != nil {
		other.spent = g.spent
	}
	return &other
}

// toward returns the bound with a goal for the search that extends it. A nil goal is none.
func (b Bound) toward(g *goal) Bound {
	b.goal = g
	return b
}

// found reports whether the bound has a case close enough to the least or the greatest value of its goal.
func (b Bound) found(greatest bool) bool {
	switch {
	case b.goal == nil:
		return false
	case b.goal.spent != nil && b.goal.spent():
		return true
	case greatest:
		return b.Greatest >= b.goal.greatest-b.goal.within
	}
	return b.Least <= b.goal.least+b.goal.within
}

// atGoal returns the bound with the ends of its goal, if it has one.
func (b Bound) atGoal() Bound {
	if b.goal == nil {
		return b
	}
	return b.derive(b.goal.least, b.goal.greatest).toward(nil)
}
