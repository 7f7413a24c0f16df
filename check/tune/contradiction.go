package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// contradictions finds out why no setting meets the requirements: a single one that none meets, or pairs. If there is neither, it
// takes all requirements together.
func (s *search) contradictions(c *Container) error {
	for _, sets := range [][]check.Requirements{s.single(), s.pairs(), {s.asked}} {
		if err := s.contradict(c, sets); err != nil || len(c.Contradictions) > 0 {
			return err
		}
	}
	return nil
}

// single returns the requirements one by one.
func (s *search) single() []check.Requirements {
	var list []check.Requirements
	for _, q := range s.asked {
		list = append(list, check.Requirements{q})
	}
	return list
}

// pairs returns the pairs of a limit and a time.
func (s *search) pairs() []check.Requirements {
	var list []check.Requirements
	for i, q := range s.asked {
		for _, r := range s.asked[i+1:] {
			if q.Row.IsLimit() != r.Row.IsLimit() {
				list = append(list, check.Requirements{q, r})
			}
		}
	}
	return list
}

// part returns the search for some of the requirements, which is over.
func (s *search) part(set check.Requirements) (*search, error) {
	if found := s.parts[set.String()]; found != nil {
		return found, nil
	}
	one := s.search(s.old, set)
	var err error
	if _, one.found, err = one.find(); err != nil {
		return nil, err
	}
	if s.parts == nil {
		s.parts = map[string]*search{}
	}
	s.parts[set.String()] = one
	return one, nil
}

// contradict adds the sets of requirements that no setting meets.
func (s *search) contradict(c *Container, sets []check.Requirements) error {
	for _, set := range sets {
		one, err := s.part(set)
		if err != nil {
			return err
		}
		if one.found {
			continue
		}
		x, err := one.contradiction()
		if err != nil {
			return err
		}
		c.Contradictions = append(c.Contradictions, x)
	}
	return nil
}

// contradiction describes why the search found nothing: in the setting that comes closest, the times are too long.
func (s *search) contradiction() (Contradiction, error) {
	c := Contradiction{Best: seconds(bounds.Never), By: seconds(bounds.Never)}
	atLeast, atMost := limits(s.asked), times(s.asked)
	for _, q := range append(atLeast, atMost...) {
		c.Requirements = append(c.Requirements, q.String())
	}
	what := together(c.Requirements)
	if s.closestMiss == bounds.Never || len(atMost) == 0 {
		c.Text = fmt.Sprintf("no setting was found that meets %s", what)
		return c, nil
	}
	q := atMost[len(atMost)-1]
	m, err := s.margins(s.closest, q)
	if err != nil {
		return c, err
	}
	if m.Margin >= 0 || m.Value.IsNever() {
		c.Text = fmt.Sprintf("no setting was found that meets %s", what)
		return c, nil
	}
	c.Best, c.By = m.Value, -m.Margin
	if len(atLeast) == 0 {
		c.Text = fmt.Sprintf("no setting meets %s: the best that was found is %s, which is %s too long", what, check.FormatUp(c.Best), check.FormatUp(c.By))
		return c, nil
	}
	c.Text = fmt.Sprintf("%s contradict each other: with the first, %s is at best %s, which is %s too long", what, q.Row, check.FormatUp(c.Best), check.FormatUp(c.By))
	if len(s.asked) > 2 {
		c.Text = fmt.Sprintf("%s contradict each other: with the others, %s is at best %s, which is %s too long", what, q.Row, check.FormatUp(c.Best), check.FormatUp(c.By))
	}
	return c, nil
}

// wider finds the next round threshold or delay above a changed one, and the margin that it leaves: that of the requirement with the
// least margin so far for which it leaves more.
func (s *search) wider(c *Container) error {
	for _, change := range c.Changes {
		p := change.place
		if p.field != threshold && p.field != delay {
			continue
		}
		round := roundUp(change.After)
		x := c.now.with(p, round)
		ok := s.ok(x)
		if s.err != nil {
			return s.err
		}
		if !ok {
			continue
		}
		now := func(q check.Requirement) check.Seconds {
			return c.Margins[slices.IndexFunc(c.Margins, func(m Margin) bool { return m.Requirement == q.String() })].Margin
		}
		about := s.about(p.kind, x, limits(s.asked))
		slices.SortStableFunc(about, func(a, b check.Requirement) int { return cmp.Compare(now(a), now(b)) })
		for _, q := range about {
			m, err := s.margins(x, q)
			if err != nil {
				return err
			}
			if m.Margin <= now(q) {
				continue
			}
			c.Wider = &Wider{Field: p.String(), Value: round, Requirement: q.String(), Margin: m.Margin}
			return nil
		}
	}
	return nil
}

// roundUp returns the next round number above n.
func roundUp(n int32) int32 {
	step := int32(1)
	switch {
	case n >= 100:
		step = 50
	case n >= 10:
		step = 5
	case n >= 5:
		step = 5
	}
	return int32(min(int64(n/step+1)*int64(step), math.MaxInt32))
}
