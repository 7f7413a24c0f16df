package bounds

import (
	"math"
	"slices"

	"probesim.dev/fakeruntime"
)

// alongside returns the delays of what the sync that starts the container does between the start and the end of the sync. The next sync shows the start to
// the probes.
func (s *Subject) alongside() []delay {
	list := s.delaysAfter(true)
	if len(s.startsAfter()) > 0 {
		list = append(list, imageStatus)
	}
	return list
}

// ahead returns the delays of what comes before the start of the container, and neither in its start nor in the time until ready.
func (s *Subject) ahead() []delay {
	others := append(s.readyDelays(), s.starts()...)
	return slices.DeleteFunc(s.firstStart(), func(of delay) bool { return of.same(runPodSandbox) || slices.ContainsFunc(others, of.same) })
}

// withAlongside extends a bound of the time until ready by searches in which the sync goes on after the start for as short or as long as it can, and for
// times in between.
func (s *Subject) withAlongside(n Nodes, c Case, search func(Nodes, Case, []dim, measure, Bound) (Bound, error), f measure, b Bound) (Bound, error) {
	if len(n.dims(s.alongside()...)) == 0 || b.isNone() || b.found(false) && b.found(true) {
		return b, nil
	}
	g := b.goal
	for _, greatest := range []bool{false, true} {
		n, c := n.at(greatest, s.alongside()), c
		c.Delays = n.Delays
		own := g.sharing(goal{least: Never, greatest: Never}) // looks for the greatest value only
		if !greatest {
			own = g.sharing(goal{least: math.MinInt64, greatest: math.MinInt64})
		}
		var err error
		if b, err = search(n, c, n.dims(s.readyDelays()...), f, b.toward(own)); err != nil {
			return b, err
		}
	}
	return s.overAlongside(n, f, b.toward(g))
}

// at returns the nodes on which some delays are as long or as short as they can be.
func (n Nodes) at(longest bool, list []delay) Nodes {
	for _, of := range list {
		r := n.draw(of)
		exactly := fakeruntime.Exactly(r.Min)
		if longest {
			exactly = fakeruntime.Exactly(r.Max)
		}
		*of(&n.Delays) = &exactly
	}
	return n
}

// overAlongside extends a bound of the time until ready by a search over how long the sync goes on after the start. The end of the sync moves against the
// ticks.
func (s *Subject) overAlongside(n Nodes, f measure, b Bound) (Bound, error) {
	for _, greatest := range []bool{false, true} {
		for _, d := range n.dims(s.alongside()...) {
			if b.isNone() || b.Greatest == Never {
				return b, nil
			}
			c := b.end(greatest)
			c.Event, c.Rules = 0, nil
			l, err := s.landmarks(c)
			if err != nil {
				return b, err
			}
			if b, err = parts(c, d, d.around(s.meetings(c, l, d)), f, b, timeTolerance); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// overStartRelists returns the bound of a function over a dimension that moves the start, and the end of its sync, against the relists. If the sync goes on
// after the start, other relists than those around the start come after it.
func (s *Subject) overStartRelists(c Case, d dim, f measure) (Bound, error) {
	if len(s.alongside()) == 0 || d.from == d.to {
		return s.overRelists(c, d, []mark{landmarks.startTime}, f, timeTolerance)
	}
	points, err := s.relistCuts(c, d, []mark{landmarks.startTime})
	if err != nil {
		return Bound{}, err
	}
	first, err := f(c)
	if err != nil {
		return first.bound, err
	}
	points = append(points, d.evenly(relistsTried)...)
	slices.Sort(points)
	return parts(c, d, slices.Compact(points), remember(f), first.bound, timeTolerance)
}

// relistsTried is the number of parts of the period of the relists in which overStartRelists looks for a jump.
const relistsTried = 8
