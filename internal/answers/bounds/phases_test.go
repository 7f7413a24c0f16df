package bounds_test

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/choose"
)

// Phases are what varies between the cases of a figure: parts from 0 to 1, by name. A seed gives
// those that are not set. Equal phases give equal cases.
type Phases struct {
	seed choose.Seeded
	set  map[string]float64
}

// NewPhases returns the phases of a seed.
func NewPhases(seed int64) *Phases { return &Phases{choose.Seeded(seed), map[string]float64{}} }

// part returns one of the phases.
func (p *Phases) part(name string) float64 {
	x, ok := p.set[name]
	if !ok {
		x = p.seed.Fraction(choose.Choice{Key: name})
		p.set[name] = x
	}
	return x
}

// in returns the time in a range at a phase.
func (p *Phases) in(name string, least, greatest time.Duration) time.Duration {
	if greatest <= least {
		return least
	}
	return least + time.Duration(p.part(name)*float64(greatest-least))
}

// edge is in, but half of the times are one of the ends.
func (p *Phases) edge(name string, least, greatest time.Duration) time.Duration {
	switch x := p.part(name + " at"); {
	case x < 0.25:
		return least
	case x < 0.5:
		return greatest
	}
	return p.in(name, least, greatest)
}

// Near returns phases one of which, of those that a case has drawn, is drawn again or moves a
// little.
func (p *Phases) Near(seed int64) *Phases {
	draw, next := NewPhases(seed), &Phases{p.seed, maps.Clone(p.set)}
	names := slices.Sorted(maps.Keys(p.set))
	name := names[min(len(names)-1, int(draw.part("name")*float64(len(names))))]
	if next.set[name] = draw.part("value"); draw.part("kind") < 0.4 {
		width := []float64{0.1, 0.01, 0.001}[int(draw.part("width")*3)]
		next.set[name] = min(1, max(0, p.set[name]+width*(2*draw.part("value")-1)))
	}
	return next
}
