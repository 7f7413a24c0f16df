package random

import "math/bits"

// rng is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1. n must be positive.
func (r *rng) below(n int64) int64 {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int64(high)
}

// between returns a number from lo to hi, including both.
func (r *rng) between(lo, hi int) int { return lo + int(r.below(int64(hi-lo)+1)) }

// percent returns true with a probability of p percent.
func (r *rng) percent(p int) bool { return r.below(100) < int64(p) }

// maybe returns a value with a probability of p percent. Otherwise it returns nil, which leaves out
// a field.
func (r *rng) maybe(p int, value any) any {
	if !r.percent(p) {
		return nil
	}
	if draw, ok := value.(func() any); ok {
		return draw()
	}
	return value
}

// one returns one of the items, each with the same probability.
func one[T any](r *rng, items ...T) T { return items[r.below(int64(len(items)))] }

// weighted is an item with a weight. Its probability is its share of the sum of all weights.
type weighted[T any] struct {
	weight int
	item   T
}

func pick[T any](r *rng, items []weighted[T]) T {
	total := 0
	for _, w := range items {
		total += w.weight
	}
	n := int(r.below(int64(total)))
	for _, w := range items {
		if n -= w.weight; n < 0 {
			return w.item
		}
	}
	panic("unreachable: the weights add up")
}

// span is a range of numbers that includes both ends.
type span struct{ lo, hi int }

// number returns a number from one of the spans.
func (r *rng) number(spans []weighted[span]) int {
	s := pick(r, spans)
	return r.between(s.lo, s.hi)
}

// maybeNumber returns a number from one of the spans with a probability of p percent, and nil
// otherwise.
func (r *rng) maybeNumber(p int, spans []weighted[span]) any {
	return r.maybe(p, func() any { return r.number(spans) })
}
