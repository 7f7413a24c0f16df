package reconstruct

import (
	"strings"
	"time"

	"probesim.dev/trace"
)

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

// edge is how far within the window of a gap the smallest of its shifts leads.
const edge = 20 * time.Millisecond

// shifts returns by how much later the nearest record should be: so that it is in the middle of the window, and so that it is just in the
// window, because other facts can have left it little room.
func (g *gap) shifts() []time.Duration {
	by, known := g.shift()
	if !known {
		return nil
	}
	list := []time.Duration{round(by)}
	if least := by.Abs() - (g.to-g.from)/2 + edge; least > 0 && least < by.Abs() {
		if by < 0 {
			least = -least
		}
		list = append(list, round(least))
	}
	return list
}

func (g *gap) about(container string) bool {
	return g.claim.Fact.Container == container || strings.Contains(g.claim.expect, "container: "+container+",")
}

// concerns reports whether a probe of a container can close a gap.
func (g *gap) concerns(container string, probe trace.Probe) bool {
	return g.about(container) || g.claim.Fact.Container == "" && probe == trace.Readiness
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
