package tune

import (
	"cmp"
	"slices"
	"sort"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
)

// smallest returns the setting with the smallest change of those that have the probes of a base.
// There is one.
//
// It takes each group of requirements that depend on the same probes by itself, unless the results
// do not fit together.
func (s *search) smallest(base setting) setting {
	x := base
	for _, g := range s.groups(base) {
		x = s.search(g.require).cheapest(x)
	}
	if !s.meets(x, s.require) {
		x = s.cheapest(base)
	}
	return s.closer(x)
}

// group has requirements that depend on the same probes, as a set of bits.
type group struct {
	probes  int
	require check.Requirements
}

// groups divides the requirements into groups that depend on different probes. The one of the
// readiness probe comes last: whether a container stays in its Service also depends on its liveness
// probe.
func (s *search) groups(base setting) []group {
	var list []group
	for _, q := range s.require {
		one := group{require: check.Requirements{q}}
		for _, p := range relevant(base, q.Row) {
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

// cheapest is smallest without groups. It tries sets of fields to change: fewer ones first.
func (s *search) cheapest(base setting) setting {
	if s.meets(base, s.require) {
		return base
	}
	places := s.places(base)
	others := len(slices.DeleteFunc(base.changes(s.old), func(p place) bool { return slices.Contains(places, p) }))
	a := attempt{search: s, best: s.candidate(s.closer(s.fastest(base).setting))}
	a.best.relative += tie // of two settings that cost the same, the one that changes a threshold is the better one
	for a.fields = 1; a.fields <= min(maxFields, a.best.fields-others); a.fields++ {
		a.changed = others + a.fields
		for _, subset := range subsets(places, a.fields, s.old) {
			solved, free := split(subset)
			a.try(base, free, solved)
		}
	}
	return a.best.setting
}

// attempt is a search for a setting that changes a number of fields.
type attempt struct {
	*search
	fields, changed int // without those that depend on other probes, and with them
	best            candidate
}

// candidate is a setting with its cost.
type candidate struct {
	setting
	cost
}

func (s *search) candidate(x setting) candidate { return candidate{x, x.costs(s.old, s.added[period])} }

// maxFields is the maximum number of fields of which a search tries all sets.
const maxFields = 5

// nearest returns the value of a field between its old one and the one in x, with which the
// requirements hold, that is the closest to the old one: a step closer, they do not. A new probe is
// best with few failures, little delay and its period in x.
func (s *search) nearest(x setting, p place) int32 {
	old, step := s.above(s.old).at(p), int32(1)
	if !s.old.has(p.kind) {
		if old = s.floor.at(p); p.field == period {
			return x.at(p)
		}
	}
	if x.at(p) < old {
		step = -1
	}
	return old + step*int32(sort.Search(int(step*(x.at(p)-old)),
		func(i int) bool { return s.meets(x.with(p, old+step*int32(i)), s.require) }))
}

// subsets returns the sets of n fields to change. A new probe always counts with its period and its
// threshold.
func subsets(places []place, n int, old setting) (all [][]place) {
	for bit := range 1 << len(places) {
		var set []place
		for i, p := range places {
			added := p.kind == startup && !old.has(startup) && (p.field == period || p.field == threshold)
			if bit>>i&1 > 0 {
				set = append(set, p)
			} else if added {
				set = nil
				break
			}
		}
		if len(set) == n {
			all = append(all, set)
		}
	}
	return all
}

// split divides fields into those whose value follows from the requirements, at most one for each
// probe, and those to try values of. A row with one more failure is never smaller, so a threshold
// follows. The rows do not always grow with a time, so it follows only if there are many to try.
func split(subset []place) (solved, free []place) {
	for k := range kinds {
		for _, f := range []field{threshold, delay, period, timeout} {
			if p := (place{k, f}); slices.Contains(subset, p) && (f == threshold || len(subset) > 2) {
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

// try replaces the best setting by a cheaper one that differs from x in some fields, if there is
// one.
func (a *attempt) try(x setting, free, solved []place) {
	if c := a.candidate(x); !(cost{a.changed, c.relative}).less(a.best.cost) {
		return
	}
	if len(free) == 0 {
		if a.solve(&x, solved) {
			if c := a.candidate(x); c.less(a.best.cost) {
				a.best = c
			}
		}
		return
	}
	if a.fields > 1 && a.hopeless(x, append(slices.Clone(free), solved...)) {
		return
	}
	p := free[0]
	upTo := max(x.at(p), min(a.longest, 60)) + 5
	switch {
	case a.fields == 1:
		upTo = a.most(x, p)
	case p.field == delay: // after a crash while starting, only a delay that is longer than the start helps
		upTo = max(upTo, a.retry+5)
	}
	upTo = min(upTo, bounds.LongestTime)
	for by := int32(0); by <= max(x.at(p)-a.floor.at(p), upTo-x.at(p)); by++ { // the closest values first
		if low := x.at(p) - by; low >= a.floor.at(p) {
			a.try(x.with(p, low), free[1:], solved)
		}
		if high := x.at(p) + by; by > 0 && high <= upTo {
			a.try(x.with(p, high), free[1:], solved)
		}
	}
}

// hopeless reports whether a setting misses a requirement whatever some of its fields are, as their
// least, present and greatest values show. With a short period, a startup probe soon corrects that
// the kubelet has carried over the start of the instance before.
func (s *search) hopeless(x setting, of []place) bool {
	low, often, high := x, x, x
	for _, p := range of {
		low.set(p, s.floor.at(p))
		high.set(p, s.most(high, p))
		if often.set(p, high.at(p)); p.field == period {
			often.set(p, s.floor.at(p))
		}
	}
	return slices.ContainsFunc(s.require, func(q check.Requirement) bool {
		return !slices.ContainsFunc([]setting{low, x, often, high}, func(y setting) bool {
			for _, p := range of {
				switch {
				case p.field != threshold:
				case q.Row.IsLimit():
					y.set(p, s.most(y, p))
				default:
					y.set(p, s.floor.at(p))
				}
			}
			return s.margin(y, q) >= 0
		})
	})
}

// solve sets the fields whose value follows from the requirements: to the least value with which
// the limits hold, or a greater one that is closer to the old value and with which the times hold.
func (s *search) solve(x *setting, solved []place) bool {
	for _, p := range solved {
		x.set(p, s.most(*x, p))
	}
	if !s.meets(*x, s.limits) {
		return false
	}
	for _, p := range solved {
		x.set(p, s.lowest(*x, p))
	}
	if !s.meets(*x, s.times) {
		return false
	}
	for _, p := range solved {
		x.set(p, s.nearest(*x, p))
	}
	return true
}

// closer goes towards the old setting as long as the requirements hold: no field on which they
// depend can be one step closer to its old value.
func (s *search) closer(x setting) setting {
	for before := (setting{}); x != before; {
		before = x
		for _, p := range s.places(x) {
			x.set(p, s.nearest(x, p))
		}
	}
	return x
}
