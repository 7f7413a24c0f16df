package sim

import "probesim.dev/sim/choose"

// choose picks which of the due timers and enabled processes goes first.
func (s *Sim) choose() int {
	if s.Canonical() || s.enabled() < 2 {
		return 0
	}
	s.candidates = s.candidates[:0]
	for i := range s.due.Len() {
		t := s.due.At(i)
		s.candidates = append(s.candidates, choose.Choice{Kind: choose.Next, Key: t.name, Ordinal: *t.turns})
	}
	for i := range s.ready.Len() {
		p := s.ready.At(i)
		s.candidates = append(s.candidates, choose.Choice{Kind: choose.Next, Key: p.name, Ordinal: *p.turns})
	}
	return s.asker.Chooser.Next(s.candidates)
}

// Race returns how a race ends, from 0 to n-1; 0 without a chooser.
func (s *Sim) Race(key string, n int) int { return s.asker.Choose(choose.Race, key, n) }

// Fraction returns a number from 0 to below 1 for a jitter; 0.5 without a chooser.
func (s *Sim) Fraction(key string) float64 { return s.asker.Fraction(key) }

// Shuffle puts items, which are in canonical order, into the order in which a walk without an order
// meets them.
func Shuffle[T any](s *Sim, key string, items []T) {
	for i := range items {
		k := i + s.asker.Choose(choose.Order, key, len(items)-i)
		items[i], items[k] = items[k], items[i]
	}
}

// Preempt is a preemption point: between two statements that do not wait, the real process may be
// interrupted here. The chooser lets it go on, or lets what is enabled now go first, or all else that
// happens at this instant. The canonical choice is to go on.
func (p *Proc) Preempt(point string) {
	s := p.sim
	if s.Canonical() || s.enabled()+s.last.Len() == 0 {
		return
	}
	switch s.asker.Choose(choose.Preemption, point+" "+p.name, 3) {
	case 1:
		s.ready.Push(p)
		p.Park()
	case 2:
		p.YieldToAll()
	}
}

// YieldToAll lets all else that happens at this instant go first.
func (p *Proc) YieldToAll() {
	p.sim.last.Push(p)
	p.Park()
}
