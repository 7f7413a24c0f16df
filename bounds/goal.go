package bounds

import "time"

// goal is the bound that a search looks for, if both of its ends are derived. The search then needs only a case close to each end.
type goal struct {
	least, greatest time.Duration
	within          time.Duration // how close is close enough
}

// derived returns a goal. A search that needs only the ends does not look for cases close to them, and one that searches on never finds the
// goal.
func (s *Subject) derived(least, greatest, within time.Duration) *goal {
	switch {
	case s.searchesOn:
		within = -2 * horizon
	case s.EndsOnly:
		within = 2 * horizon
	}
	return &goal{least, greatest, within}
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
