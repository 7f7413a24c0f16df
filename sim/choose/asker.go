package choose

import (
	"cmp"
	"math"
	"slices"
)

// Asker asks a chooser and numbers the choices of each kind and key. The zero value has no chooser
// and makes canonical choices.
type Asker struct {
	Chooser    Chooser
	asked      map[Choice]int64
	candidates []Choice // reused between calls of Next
}

// Canonical reports whether there is no chooser.
func (a *Asker) Canonical() bool { return a.Chooser == nil }

// Skips reports whether choices that do not matter can be left out: there is no chooser, or one
// that draws each choice from its identity alone and keeps no list of them.
func (a *Asker) Skips() bool {
	_, seeded := a.Chooser.(Seeded)
	return seeded || a.Canonical()
}

// Choose picks one of n alternatives, from 0 to n-1. It returns 0 if n is less than 2.
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

// Race picks one of n outcomes of a race, from 0 to n-1. It returns 0 without a chooser.
func (a *Asker) Race(key string, n int) int { return a.Choose(Race, key, n) }

// guide returns the chooser if it is a Guide, otherwise nil.
func (a *Asker) guide() Guide {
	g, _ := a.Chooser.(Guide)
	return g
}

// Turn tells a Guide that a process reaches a point now.
func (a *Asker) Turn(process, point string) {
	if g := a.guide(); g != nil {
		g.Turn(process, point)
	}
}

// Places reports whether a Guide knows the place of a point of a process.
func (a *Asker) Places(process, point string) bool {
	g := a.guide()
	if g == nil {
		return false
	}
	_, ok := g.Place(process, point)
	return ok
}

// Walk returns the items of the walk that follows the next turn of a process, if a Guide knows them
// and this turn is now and not after the next turn of the process by.
func (a *Asker) Walk(name, process, by string) (items []string, ok bool) {
	if g := a.guide(); g != nil {
		return g.Walk(name, process, by)
	}
	return nil, false
}

// Guided sorts items in canonical order by the places of their points with a Guide. Items without a
// place stay behind the others.
func Guided[T any](a *Asker, process string, items []T, point func(T) string) {
	g := a.guide()
	if g == nil || len(items) < 2 {
		return
	}
	type placed struct {
		item  T
		place int
	}
	list := make([]placed, len(items))
	for i, item := range items {
		place, ok := g.Place(process, point(item))
		if !ok {
			place = math.MaxInt
		}
		list[i] = placed{item, place}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	for i := range list {
		items[i] = list[i].item
	}
}

// Shuffle reorders items as a walk without a defined order visits them, such as one over a Go map.
// The items must be in canonical order.
func Shuffle[T any, A interface{ Choose(Kind, string, int) int }](a A, key string, items []T) {
	for i := range items {
		k := i + a.Choose(Order, key, len(items)-i)
		items[i], items[k] = items[k], items[i]
	}
}

// Fraction picks the size of a jitter, from 0 to below 1. It returns 0.5 without a chooser.
func (a *Asker) Fraction(source JitterSource, drawer string) float64 {
	if a.Canonical() {
		return 0.5
	}
	return a.Chooser.Fraction(a.identify(Jitter, string(source)+drawer))
}

// identify returns the next choice of a kind and key.
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
