package search

import (
	"slices"
	"time"

	"probesim.dev/sim/choose"
)

// improve searches for a run that agrees with the trace for longer: first with other ends of races,
// then with another value for one choice, then with a pair of choices.
func (f *follower) improve(best attempt) (attempt, bool) {
	if a, ok := f.chain(best, best, chained); ok {
		return a, true
	}
	options := f.alternatives(best)
	for _, o := range options {
		if a, ok := f.further(best, o); ok {
			return a, true
		}
	}
	for i, o := range options {
		for _, second := range options[:i] {
			if f.runs >= f.Budget { // thousands of options have millions of pairs
				return attempt{}, false
			}
			if a, ok := f.further(best, o, second); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// Bounds on the races that chain combines.
const (
	mostRaces = 8
	chained   = 3
)

// chain adds up to n other ends of the latest races to those of a run that does not get further
// than best. Some races come up only after others. No log shows a race: the loops of the volume
// manager decide together when a mount begins, which can be long before it ends. A mount that takes
// no time needs three choices: the populator, then the reconciler, then the poll.
func (f *follower) chain(best, run attempt, n int) (attempt, bool) {
	tried := 0
	for _, d := range slices.Backward(run.decisions) {
		if d.t > best.parts || d.choice.Kind != choose.Race {
			continue
		}
		for _, end := range d.others() {
			if tried++; tried > mostRaces || f.runs >= f.Budget {
				return attempt{}, false
			}
			after := f.try(append(slices.Clone(run.made), end), min(best.parts.Add(margin), f.end), false)
			if after.parts > best.parts {
				return after, true
			}
			if n > 1 {
				if a, ok := f.chain(best, after, n-1); ok {
					return a, true
				}
			}
		}
	}
	return attempt{}, false
}

// margin is how long a trial runs beyond the first difference: long enough to show that it got past
// it.
const margin = 10 * time.Millisecond

func (f *follower) further(best attempt, more ...choose.Made) (attempt, bool) {
	if f.runs >= f.Budget {
		return attempt{}, false
	}
	until := min(best.parts.Add(margin), f.end)
	a := f.try(append(slices.Clone(best.made), more...), until, false)
	return a, a.parts > best.parts
}

// alternatives lists the choices that the run could have made differently before its first
// difference from the trace, the latest first.
func (f *follower) alternatives(a attempt) (list []choose.Made) {
	for _, d := range slices.Backward(a.decisions) {
		if d.t <= a.parts {
			list = append(list, d.others()...)
		}
	}
	return list
}
