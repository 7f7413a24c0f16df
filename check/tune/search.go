package tune

import (
	"cmp"
	"math"
	"slices"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// search looks for the smallest change of a setting that meets requirements.
type search struct {
	*subject
	old     setting            // the setting to change
	require check.Requirements // to meet, and those that follow from them
	limits  check.Requirements // of them, each sort
	times   check.Requirements
	longest int32 // the longest time that a requirement names, in seconds
}

func (s *subject) search(old setting, require check.Requirements) *search {
	one := &search{subject: s, old: old, require: implied(old, require)}
	for _, q := range one.require {
		one.longest = max(one.longest, int32(math.Ceil(q.Duration.Seconds())))
	}
	one.limits, one.times = sorted(one.require)
	return one
}

// sorted divides requirements into those on limits and those on times.
func sorted(list check.Requirements) (limits, times check.Requirements) {
	for _, q := range list {
		if q.Row.IsLimit() {
			limits = append(limits, q)
		} else {
			times = append(times, q)
		}
	}
	return limits, times
}

// implied adds requirements that follow from some: a container that its liveness probe kills in a stall does not stay in its Service.
func implied(old setting, asked check.Requirements) check.Requirements {
	all := slices.Clone(asked)
	for _, q := range asked {
		stall := check.Requirement{Row: check.Stall, Duration: q.Duration}
		if q.Row == check.Serving && old.has(liveness) && !slices.Contains(all, stall) {
			all = append(all, stall)
		}
	}
	return all
}

// find returns the setting with the smallest change. If no setting meets the requirements, it returns the one that keeps the limits and comes the closest to
// the times; limits is false if no setting keeps the limits.
//
// It takes each group of requirements that depend on the same probes by itself, unless the results do not fit together.
func (s *search) find() (x setting, limits, times bool) {
	if s.meets(s.old, s.require) {
		return s.old, true, true
	}
	x = s.old
	groups := s.groups()
	for _, g := range groups {
		if x, limits, times = s.search(x, g.require).smallest(); !times {
			return x, limits, times
		}
	}
	if len(groups) > 1 && !s.meets(x, s.require) {
		return s.smallest()
	}
	return s.closer(x), true, true
}

// group has requirements that depend on the same probes, as a set of bits.
type group struct {
	probes  int
	require check.Requirements
}

// groups divides the requirements into groups that depend on different probes. The one of the readiness probe comes last: whether a container stays in its
// Service also depends on its liveness probe.
func (s *search) groups() []group {
	var list []group
	for _, q := range s.require {
		one := group{require: check.Requirements{q}}
		for _, p := range relevant(s.old, q.Row) {
			one.probes |= 1 << p.kind
		}
		list = slices.DeleteFunc(list, func(g group) bool {
			common := g.probes&one.probes != 0
			if common {
				one = group{g.probes | one.probes, append(g.require, one.require...)}
			}
			return common
		})
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b group) int { return cmp.Compare(a.probes, b.probes) })
	return list
}

// smallest is find without groups. Each setting that it tries changes some of the fields: fewer ones first.
func (s *search) smallest() (best setting, limits, times bool) {
	if s.meets(s.old, s.require) {
		return s.old, true, true
	}
	bases := s.bases()
	for i, base := range bases {
		x, keeps := s.fastest(base)
		met := keeps && s.meets(x, s.times)
		if met {
			x = s.closer(x)
		}
		if i == 0 || met && (!times || s.cheaper(x, best)) || keeps && !limits {
			best, limits, times = x, keeps, met
		}
	}
	if !times {
		return best, limits, false
	}
	for n := 1; n <= min(maxFields, best.cost(s.old).fields); n++ {
		for _, base := range bases {
			for _, subset := range subsets(s.places(base), n, base, s.old) {
				solved, free := split(subset)
				s.try(base, free, solved, &best)
			}
		}
	}
	return best, true, true
}

// maxFields is the maximum number of fields of which a search tries all sets.
const maxFields = 4

func (s *search) cheaper(x, than setting) bool { return x.cost(s.old).less(than.cost(s.old)) }

// The longest period and timeout, in seconds, of a startup probe that a search adds with the handler of the liveness probe. Each start waits for
// its ticks, so it begins with the default period if the one of the liveness probe is longer.
const (
	addedPeriod  = 10
	addedTimeout = 60
)

// bases returns the settings to begin with: the old one, and the old one with a startup probe.
func (s *search) bases() []setting {
	list := []setting{s.old}
	if s.old.has(startup) || !s.old.has(liveness) {
		return list
	}
	if !slices.ContainsFunc(s.require, func(q check.Requirement) bool {
		return slices.Contains([]check.RowID{check.Start, check.Restart, check.Retry}, q.Row)
	}) {
		return list
	}
	added, like := s.old, s.old[liveness]
	added[startup] = [fields]int32{delay: 0, period: min(like[period], addedPeriod), timeout: min(like[timeout], addedTimeout), threshold: 1}
	return append(list, added)
}

// places returns the fields on which the required rows depend.
func (s *search) places(base setting) []place {
	var list []place
	for _, q := range s.require {
		for _, p := range relevant(base, q.Row) {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// fastest returns the setting that keeps the limits with the shortest times, and whether it keeps them. Longer periods, timeouts and delays and higher
// thresholds make no time shorter. A period of a second with the threshold that suffices exceeds a limit by the least. Only a start after a crash while
// starting needs a delay.
func (s *search) fastest(base setting) (setting, bool) {
	x := base
	places := s.places(base)
	for _, p := range places {
		x.set(p, least[p.field])
		if p.field == threshold || p.field == delay {
			x.set(p, s.most(p.field))
		}
	}
	if !s.meets(x, s.limits) {
		return x, false
	}
	for _, f := range []field{delay, threshold} {
		for _, p := range places {
			if p.field == f {
				x.set(p, s.lowest(x, p, s.limits))
			}
		}
	}
	return x, true
}

// most returns a value of a field that is more than enough for all limits.
func (s *search) most(f field) int32 { return min(2*s.longest+60, greatest(f)) }

// lowest returns the least value of a field with which some limits hold. They hold with its value in x.
func (s *search) lowest(x setting, p place, limits check.Requirements) int32 {
	low, high := least[p.field], x.at(p)
	for low < high {
		if middle := low + (high-low)/2; s.meets(x.with(p, middle), limits) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return high
}

// highest returns the greatest value of a field, up to its old one, with which the times hold. They hold with its value in x.
func (s *search) highest(x setting, p place) int32 {
	low, high := x.at(p), s.old.at(p)
	for low < high {
		if middle := high - (high-low)/2; s.meets(x.with(p, middle), s.times) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// subsets returns the sets of n fields to change. A new probe always counts with its period and its threshold.
func subsets(places []place, n int, base, old setting) [][]place {
	var must []place
	if base.has(startup) && !old.has(startup) {
		must = []place{{startup, period}, {startup, threshold}}
	}
	optional := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return slices.Contains(must, p) })
	var all [][]place
	var choose func(from int, chosen []place)
	choose = func(from int, chosen []place) {
		if len(chosen) == n {
			all = append(all, slices.Clone(chosen))
			return
		}
		for i := from; i < len(optional); i++ {
			choose(i+1, append(chosen, optional[i]))
		}
	}
	if len(must) <= n {
		choose(0, must)
	}
	return all
}

// split divides fields into those whose value follows from the requirements, at most one for each probe, and those to try values of. A row with one more
// failure is never smaller, so a threshold follows. A time follows only if it is not alone.
func split(subset []place) (solved, free []place) {
	for k := range kinds {
		for _, f := range []field{threshold, delay, period, timeout} {
			if p := (place{k, f}); slices.Contains(subset, p) && (f == threshold || len(subset) > 1) {
				solved = append(solved, p)
				break
			}
		}
	}
	for _, p := range subset {
		if !slices.Contains(solved, p) {
			free = append(free, p)
		}
	}
	return solved, free
}

// try replaces best by a cheaper setting that differs from x in some fields, if there is one.
func (s *search) try(x setting, free, solved []place, best *setting) {
	if !s.cheaper(x, *best) || s.hopeless(x, append(slices.Clone(free), solved...)) {
		return
	}
	if len(free) == 0 {
		if s.solve(&x, solved) && s.cheaper(x, *best) {
			*best = x
		}
		return
	}
	p := free[0]
	upTo := max(s.old.at(p), min(s.longest, 60))
	if len(free)+len(solved) == 1 && x == s.old { // the only field to change
		upTo = s.most(p.field)
	}
	for _, v := range choices(p, x.at(p), upTo) {
		s.try(x.with(p, v), free[1:], solved, best)
	}
}

// choices returns the values of a field to try, up to a value, beginning with those that are the closest to the old one.
func choices(p place, old, upTo int32) []int32 {
	var list []int32
	for v := least[p.field]; v <= upTo; v++ {
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(max(a-old, old-a), max(b-old, old-b)) })
	return list
}

// hopeless reports whether a setting misses a requirement with the least, the present and the greatest values of some fields, so that it does so with those
// between.
func (s *search) hopeless(x setting, of []place) bool {
	return slices.ContainsFunc(s.require, func(q check.Requirement) bool {
		ends := []int32{0, -1, bounds.LongestTime}
		if q.Row.IsLimit() {
			slices.Reverse(ends)
		}
		return !slices.ContainsFunc(ends, func(end int32) bool {
			y := x
			for _, p := range of {
				switch {
				case p.field == threshold && q.Row.IsLimit():
					y.set(p, s.most(threshold))
				case p.field == threshold:
					y.set(p, least[threshold])
				case end >= 0:
					y.set(p, max(least[p.field], min(end, s.most(p.field))))
				}
			}
			return s.margin(y, q) >= 0
		})
	})
}

// solve sets the fields whose value follows from the requirements: to the least value with which the limits hold, or a greater one that is closer to the
// old value and with which the times hold.
func (s *search) solve(x *setting, solved []place) bool {
	for _, p := range solved {
		x.set(p, s.most(p.field))
	}
	if !s.meets(*x, s.limits) {
		return false
	}
	for _, p := range solved {
		x.set(p, s.lowest(*x, p, s.limits))
	}
	if !s.meets(*x, s.times) {
		return false
	}
	for _, p := range solved {
		if s.old.has(p.kind) && x.at(p) < s.old.at(p) {
			x.set(p, s.highest(*x, p))
		}
	}
	return s.meets(*x, s.require)
}

// closer goes towards the old setting as long as the requirements hold: the value of no changed field can be one step closer to its
// old value. A new probe gets fewer failures and less delay.
func (s *search) closer(x setting) setting {
	for again := true; again; {
		again = false
		for _, p := range x.changes(s.old) {
			to := s.old.at(p)
			if !s.old.has(p.kind) {
				if to = least[p.field]; p.field == period {
					continue
				}
			}
			if y := x.with(p, x.at(p)+int32(cmp.Compare(to, x.at(p)))); y != x && s.meets(y, s.require) {
				x, again = y, true
			}
		}
	}
	return x
}
