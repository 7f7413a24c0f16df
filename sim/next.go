package sim

import "probesim.dev/sim/choose"

// enabled returns the number of timers and processes that can go next.
func (s *Sim) enabled() int { return s.due.Len() + s.ready.Len() }

// next picks the timer or process that goes first. The result is an index of the due timers,
// followed by the enabled processes.
func (s *Sim) next() int {
	n := s.enabled()
	if s.Canonical() || n < 2 {
		return 0
	}
	if seed, ok := s.Chooser.(choose.Seeded); ok {
		return s.draw(seed, n)
	}
	return s.Next(n, s.candidate)
}

// candidate identifies the i-th of the due timers and enabled processes to the chooser.
func (s *Sim) candidate(i int) choose.Choice {
	if i < s.due.Len() {
		t := s.due.At(i)
		return choose.Choice{Kind: choose.Next, Key: t.key(), Ordinal: *t.turns}
	}
	p := s.ready.At(i - s.due.Len())
	return choose.Choice{Kind: choose.Next, Key: p.Name(), Ordinal: *p.sleep.turns}
}

// draw does what Seeded.Next does. Many candidates can wait at one instant, so each keeps the
// digest of its key.
func (s *Sim) draw(seed choose.Seeded, n int) int {
	first, least := 0, s.priority(seed, 0)
	for i := 1; i < n; i++ {
		if p := s.priority(seed, i); p < least {
			first, least = i, p
		}
	}
	return first
}

// priority returns the priority of a candidate.
func (s *Sim) priority(seed choose.Seeded, i int) uint64 {
	if i < s.due.Len() {
		t := s.due.At(i)
		return seed.Priority(t.digest.of(t.key), *t.turns)
	}
	p := s.ready.At(i - s.due.Len())
	return seed.Priority(p.digest.of(p.Name), *p.sleep.turns)
}

// digest is the digest of a candidate's key, 0 until somebody asks.
type digest choose.Digest

func (d *digest) of(key func() string) choose.Digest {
	if *d == 0 {
		*d = digest(choose.DigestOf(choose.Next, key()))
	}
	return choose.Digest(*d)
}
