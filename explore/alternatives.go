package explore

import (
	"math"
	"slices"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// atOnce is how long before a parting a choice lies that led to it directly.
const atOnce = 50 * time.Millisecond

// bands are how long before the parting the choice that matters may lie, likeliest first: just before;
// a requeue ago, which is 60 to 90 s after the sync that drew it; at any other time in between; before that, as when
// the sync loop has slept since.
var bands = []band{
	{atOnce, 3 * time.Second},
	{59 * time.Second, 92 * time.Second},
	{3 * time.Second, 59 * time.Second},
	{92 * time.Second, math.MaxInt64},
}

// band is a time before the parting.
type band struct{ from, to time.Duration }

// option is a choice that could have been made at a time.
type option struct {
	t    virtual.Time
	made choose.Made
}

// alternatives lists the choices that could have been made otherwise before the run parted from the trace: those
// just before, those about start delays that no other worker got, those just before something began of which the record
// is at the parting, then the others, latest first within each band.
func (f *follower) alternatives(a attempt) []option {
	var list []option
	within := func(b band) {
		for _, d := range slices.Backward(a.decisions) {
			if ago := a.parts.Sub(d.t); !d.start && b.from <= ago && ago < b.to {
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

// took returns how long before the parting began what is recorded there on one side only: longer ago than at once.
func (f *follower) took(a attempt) []time.Duration {
	var list []time.Duration
	for _, r := range f.differing(a) {
		if r.Took > atOnce && !slices.Contains(list, r.Took) {
			list = append(list, r.Took)
		}
	}
	return list
}

// differing returns what is recorded at the parting on one side only.
func (f *follower) differing(a attempt) []trace.Record {
	want, got := atTime(f.Want, a.parts), atTime(a.records, a.parts)
	return slices.Concat(without(want, got), without(got, want))
}
