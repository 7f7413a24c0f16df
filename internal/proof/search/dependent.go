package search

import (
	"slices"

	"probesim.dev/sim/choose"
)

// dependent tries pairs of choices whose second comes up only after the first. For example, a
// worker that is overtaken finds two ready cases in its select instead of one. Both choices lie
// just before the first difference; otherwise there are too many pairs.
func (f *follower) dependent(best attempt, options []option) (attempt, bool) {
	known := map[choose.Made]bool{}
	for _, o := range options {
		known[o.made] = true
	}
	for _, first := range options {
		if best.parts.Sub(first.t) >= justBefore || f.runs >= f.Budget {
			continue
		}
		made := append(slices.Clone(best.made), first.made)
		for _, second := range f.news(f.try(made, min(best.parts.Add(margin), f.end), false), best, known) {
			if a, ok := f.further(best, first.made, second.made); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// news lists the alternatives just before the first difference that come up in a and are not known
// yet.
func (f *follower) news(a, best attempt, known map[choose.Made]bool) []option {
	var list []option
	for _, d := range a.decisions {
		if ago := best.parts.Sub(d.t); d.start || ago < 0 || ago >= justBefore {
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
