package random

import (
	"math/bits"
	"time"

	"probesim.dev/internal/value"
)

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

// grains are the units of times: each time is a multiple of one.
var grains = []weighted[time.Duration]{
	{50, time.Second},
	{8, 100 * time.Millisecond},
	{22, time.Millisecond},
	{12, time.Microsecond},
	{8, time.Nanosecond},
}

// time returns a time from lo to hi, of any grain. Short times are more likely than long ones.
func (r *rng) time(lo, hi time.Duration) time.Duration {
	hi = lo + (hi-lo)>>r.below(4)
	grain := pick(r, grains)
	if hi-lo < 2*grain {
		return r.odd(lo, hi)
	}
	first := (lo + grain - 1) / grain
	return (first + time.Duration(r.below(int64(hi/grain-first)+1))) * grain
}

// odd returns a time from lo to hi that avoids round numbers.
func (r *rng) odd(lo, hi time.Duration) time.Duration {
	grain := one(r, time.Nanosecond, time.Microsecond, 10*time.Microsecond, time.Millisecond)
	if hi-lo < 100*grain {
		grain = time.Nanosecond
	}
	t := (lo + time.Duration(r.below(int64(hi-lo)+1))) / grain * grain
	if t%(10*grain) == 0 {
		t += 3 * grain
	}
	return min(max(t, lo), hi)
}

// spread is the maximum distance of the ends of a draw from its middle, in percent.
const spread = 20

// draw formats a time. With seeds, it sometimes returns a range around the time.
func (g *generator) draw(d time.Duration) string {
	if g.options.Seeds == 0 || !g.percent(40) {
		return value.Format(d)
	}
	margin := d / 100 * time.Duration(g.between(1, spread))
	return value.Draw{Min: d - margin, Max: d + margin}.String()
}
