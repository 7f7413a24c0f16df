package random

import (
	"time"

	"probesim.dev/internal/value"
)

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
