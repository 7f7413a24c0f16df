package explore

import (
	"slices"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// dependent looks for a run that goes further with two choices, of which the second comes up only where the first is
// made: a worker that is overtaken, say, finds two cases of its select ready and not one. Both are about what happens
// just before the parting, as else there would be too many.
func (f *follower) dependent(best attempt, options []option) (attempt, bool) {
	known := map[choose.Made]bool{}
	for _, o := range options {
		known[o.made] = true
	}
	for _, first := range options {
		if best.parts.Sub(first.t) >= atOnce || f.runs >= f.Budget {
			continue
		}
		made := append(slices.Clone(best.made), first.made)
		for _, second := range f.news(f.try(made, min(best.parts.Add(margin), virtual.At(f.Duration)), false), best, known) {
			if a, ok := f.further(best, first.made, second.made); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// news lists the choices just before the parting of the best run that come up in another for the first time.
func (f *follower) news(a, best attempt, known map[choose.Made]bool) []option {
	var list []option
	for _, d := range a.decisions {
		if ago := best.parts.Sub(d.t); d.start || ago < 0 || ago >= atOnce {
			continue
		}
		for _, o := range d.others() {
			if !known[o.made] {
				known[o.made] = true
				list = append(list, o)
			}
		}
	}
	return list
}
