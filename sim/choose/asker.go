package choose

// Asker asks a chooser, and knows which choice of its kind and key each one is. The zero value has no chooser:
// each choice is the canonical one.
type Asker struct {
	Chooser    Chooser
	asked      map[Choice]int64
	candidates []Choice // room for those of one choice
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

// Next picks which of n candidates goes first.
func (a *Asker) Next(n int, candidate func(i int) Choice) int {
	if a.Canonical() || n < 2 {
		return 0
	}
	a.candidates = a.candidates[:0]
	for i := range n {
		a.candidates = append(a.candidates, candidate(i))
	}
	return a.Chooser.Next(a.candidates)
}

// Race picks how a race ends, from 0 to n-1; 0 without a chooser.
func (a *Asker) Race(key string, n int) int { return a.Choose(Race, key, n) }

// Shuffle puts items, which are in canonical order, into the order in which a walk without an order
// meets them.
func Shuffle[T any, A interface{ Choose(Kind, string, int) int }](a A, key string, items []T) {
	for i := range items {
		k := i + a.Choose(Order, key, len(items)-i)
		items[i], items[k] = items[k], items[i]
	}
}

// Fraction picks the size of a jitter that the drawer draws from a source, from 0 to below 1; 0.5 without a chooser.
func (a *Asker) Fraction(source JitterSource, drawer string) float64 {
	if a.Canonical() {
		return 0.5
	}
	return a.Chooser.Fraction(a.identify(Jitter, string(source)+drawer))
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
