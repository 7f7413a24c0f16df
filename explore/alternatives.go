package explore

import (
	"math"
	"slices"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// atOnce bounds how long before the first difference a choice lies that led to it directly.
const atOnce = 50 * time.Millisecond

// bands are the ranges, likeliest first, of how long before the first difference the choice that matters may lie: just
// before it; one requeue before it, which comes 60 to 90 s after the sync that drew it; between the two; earlier, for
// example if the sync loop slept in between.
var bands = []band{
	{atOnce, 3 * time.Second},
	{59 * time.Second, 92 * time.Second},
	{3 * time.Second, 59 * time.Second},
	{92 * time.Second, math.MaxInt64},
}

// band is a range of times before the first difference.
type band struct{ from, to time.Duration }

// option is a choice that a run could have made at a time.
type option struct {
	t    time.Duration
	made choose.Made
}

// alternatives lists the choices that the run could have made differently before its first difference from the trace:
// choices just before it; start delays that no other worker got; choices just before the start of an operation whose
// record differs; then the others, latest first within each band.
func (f *follower) alternatives(a attempt) []option {
	var list []option
	within := func(b band) {
		for _, d := range slices.Backward(a.decisions) {
			if ago := a.parts - d.t; !d.start && b.from <= ago && ago < b.to {
				list = append(list, d.others()...)
			}
		}
	}
	within(band{0, atOnce})
	for _, d := range a.decisions {
		if !d.start || d.t > a.parts {
			continue
		}
		for _, o := range d.others() {
			if !taken(a, d, o.made.Value) {
				list = append(list, o)
			}
		}
	}
	for _, took := range f.took(a) {
		within(band{took, took + atOnce})
	}
	for _, band := range bands {
		within(band)
	}
	return list
}

// took returns how long the differing operations took, if they began more than atOnce before the first difference.
func (f *follower) took(a attempt) []time.Duration {
	var list []time.Duration
	for _, r := range f.differing(a) {
		if r.Took > atOnce && !slices.Contains(list, r.Took) {
			list = append(list, r.Took)
		}
	}
	return list
}

// differing returns the records at the first difference that only one side has.
func (f *follower) differing(a attempt) []trace.Record {
	want, got := atTime(f.Want, a.parts), atTime(a.records, a.parts)
	return slices.Concat(without(want, got), without(got, want))
}
