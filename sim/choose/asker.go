package choose

// Asker asks a chooser, and knows which choice of its kind and key each one is. The zero value has no chooser:
// each choice is the canonical one.
type Asker struct {
	Chooser Chooser
	asked   map[Choice]int64
}

// Canonical reports whether there is no chooser.
func (a *Asker) Canonical() bool { return a.Chooser == nil }

// Choose picks one of n; the first where there is nothing to choose.
func (a *Asker) Choose(kind Kind, key string, n int) int {
	if a.Canonical() || n < 2 {
		return 0
	}
	return a.Chooser.Choose(a.identify(kind, key), n)
}

// Fraction picks the size of a jitter, from 0 to below 1.
func (a *Asker) Fraction(key string) float64 {
	if a.Canonical() {
		return 0.5
	}
	return a.Chooser.Fraction(a.identify(Jitter, key))
}

// identify returns the choice with the ordinal that is its turn.
func (a *Asker) identify(kind Kind, key string) Choice {
	if a.asked == nil {
		a.asked = map[Choice]int64{}
	}
	c := Choice{Kind: kind, Key: key}
	n := a.asked[c]
	a.asked[c] = n + 1
	c.Ordinal = n
	return c
}
