package search

import (
	"math"
	"slices"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// justBefore is the maximum time from a choice to a first difference that it causes directly.
const justBefore = 50 * time.Millisecond

// bands are ranges of the time from the relevant choice to the first difference, likeliest first:
// the choice lies just before the difference; one requeue before it, since a requeue comes 60 to 90
// s after the sync that drew its jitter; between these two; or earlier, for example if the sync
// loop slept in between.
var bands = []band{
	{justBefore, 3 * time.Second},
	{59 * time.Second, 92 * time.Second},
	{3 * time.Second, 59 * time.Second},
	{92 * time.Second, math.MaxInt64},
}

// band is a range of times before the first difference.
type band struct{ from, to time.Duration }

// option is a choice that a run could have made at a time.
type option struct {
	t    virtual.Time
	made choose.Made
}

// alternatives lists the choices that the run could have made differently before its first
// difference from the trace: choices just before it; start delays that no other worker got; choices
// just before the start of an operation whose record differs; then the others, latest first within
// each band.
func (f *follower) alternatives(a attempt) []option {
	var list []option
	within := func(b band) {
		for _, d := range slices.Backward(a.decisions) {
			if ago := a.parts.Sub(d.t); !d.start && b.from <= ago && ago < b.to {
				list = append(list, d.others()...)
			}
		}
	}
	within(band{0, justBefore})
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
		within(band{took, took + justBefore})
	}
	for _, band := range bands {
		within(band)
	}
	return list
}

// took returns how long the differing operations took, if they began more than justBefore before
// the first difference.
func (f *follower) took(a attempt) []time.Duration {
	var list []time.Duration
	for _, r := range f.differing(a) {
		if r.Took > justBefore && !slices.Contains(list, r.Took) {
			list = append(list, r.Took)
		}
	}
	return list
}

// differing returns the records at the first difference that only one side has.
func (f *follower) differing(a attempt) []trace.Record {
	return slices.Concat(f.differingSides(a))
}
