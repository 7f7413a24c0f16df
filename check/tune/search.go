package tune

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// search looks for the smallest change of a setting that meets requirements.
type search struct {
	*subject
	require check.Requirements // to meet
	limits  check.Requirements // of them, each sort
	times   check.Requirements
	longest int32 // the longest time that a requirement names, in seconds
	retry   int32 // the one for a start after a crash while starting, or 0
}

func (s *subject) search(require check.Requirements) *search {
	one := &search{subject: s, require: require}
	for _, q := range require {
		least := int32(math.Ceil(q.Duration.Seconds()))
		if one.longest = max(one.longest, least); q.Row == check.Retry {
			one.retry = least
		}
	}
	one.limits, one.times = sorted(require)
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
func (s *subject) implied(asked ...check.Requirement) check.Requirements {
	all := slices.Clone(asked)
	for _, q := range asked {
		stall := check.Requirement{Row: check.Stall, Duration: q.Duration}
		if q.Row == check.Serving && s.old.has(liveness) && !slices.Contains(all, stall) {
			all = append(all, stall)
		}
	}
	return all
}

// result is what a search finds: the setting with the smallest change that meets the requirements, or else the one that keeps the limits and comes the
// closest to the times.
type result struct {
	setting
	limits, met bool          // it keeps the limits, and meets all requirements
	late        time.Duration // by how much it misses the times
}

func (s *search) find() result {
	if s.meets(s.old, s.require) {
		return result{setting: s.old, limits: true, met: true}
	}
	var best result
	for i, base := range s.bases() {
		var r result
		if r.setting, r.limits = s.fastest(base); r.limits {
			r.late = s.late(r.setting)
		}
		if r.met = r.limits && r.late == 0; r.met {
			r.setting = s.smallest(base)
		}
		better := r.limits && (!best.limits || r.late < best.late) || r.met && best.met && s.cheaper(r.setting, best.setting)
		if i == 0 || better {
			best = r
		}
	}
	return best
}

// late returns by how much a setting misses the times.
func (s *search) late(x setting) (sum time.Duration) {
	for _, q := range s.times {
		sum += min(max(0, -s.margin(x, q)), time.Hour)
	}
	return sum
}

func (s *search) cheaper(x, than setting) bool { return x.costs(s.old).less(than.costs(s.old)) }

// fastest returns the setting that keeps the limits with the shortest times, and whether it keeps them. Longer periods and delays and higher thresholds make
// no time shorter, and a period of a second with the threshold that suffices exceeds a limit by the least. Only a start after a crash while starting needs a
// delay. A readiness probe can also have a longer timeout: it ends no run that the program refuses, but those of gRPC.
func (s *search) fastest(base setting) (best setting, limits bool) {
	places := s.places(base)
	for i, last := range [][]field{{threshold, timeout}, {timeout, threshold}} {
		x := base
		for _, p := range places {
			x.set(p, least[p.field])
		}
		needed := slices.DeleteFunc([]place{
			{startup, delay}, {readiness, delay}, {startup, threshold}, {liveness, threshold}, {readiness, last[0]}, {readiness, last[1]},
		}, func(p place) bool { return !slices.Contains(places, p) })
		for _, p := range needed {
			x.set(p, s.most(x, p))
		}
		if !s.meets(x, s.limits) {
			return x, false
		}
		for _, p := range needed {
			x.set(p, s.lowest(x, p))
		}
		if i == 0 || s.late(x) < s.late(best) {
			best = x
		}
	}
	return best, true
}

// smallest returns the setting with the smallest change of those that have the probes of a base. There is one.
//
// It takes each group of requirements that depend on the same probes by itself, unless the results do not fit together.
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

// groups divides the requirements into groups that depend on different probes. The one of the readiness probe comes last: whether a container stays in its
// Service also depends on its liveness probe.
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
	fastest, _ := s.fastest(base)
	best := s.candidate(s.closer(fastest))
	best.relative += tie // of two settings that cost the same, the one that changes a threshold is the better one
	places := s.places(base)
	others := len(slices.DeleteFunc(base.changes(s.old), func(p place) bool { return slices.Contains(places, p) }))
	for n := 1; n <= min(maxFields, best.fields-others); n++ {
		for _, subset := range subsets(places, n, s.old) {
			solved, free := split(subset)
			s.try(base, free, solved, others+n, &best)
		}
	}
	return best.setting
}

// candidate is a setting with its cost.
type candidate struct {
	setting
	cost
}

func (s *search) candidate(x setting) candidate { return candidate{x, x.costs(s.old)} }

// maxFields is the maximum number of fields of which a search tries all sets.
const maxFields = 5

// addedTimeout is the longest timeout, in seconds, of a startup probe that a search adds with the handler of the liveness probe.
const addedTimeout = 60

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
	added := s.old
	added[startup] = [fields]int32{period: s.old.addedPeriod(), timeout: min(s.old[liveness][timeout], addedTimeout), threshold: 1}
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

// most returns a value of a field of a setting that is more than enough for all limits. No threshold helps a start after a crash while starting, not even
// one so high that the probe counts as none.
func (s *search) most(x setting, p place) int32 {
	most, of := 2*s.longest+60, x[p.kind]
	switch {
	case p.field != threshold:
		return min(most, bounds.LongestTime)
	case s.retry > 0:
		return max(1, min(most, (int32(bounds.LongestLimit/time.Second)-of[delay])/max(of[period], of[timeout])))
	}
	return most
}

// lowest returns the least value of a field with which the limits hold. They hold with its value in x.
func (s *search) lowest(x setting, p place) int32 {
	low := least[p.field]
	return low + int32(sort.Search(int(x.at(p)-low), func(i int) bool { return s.meets(x.with(p, low+int32(i)), s.limits) }))
}

// nearest returns the value of a field between its old one and the one in x, with which the requirements hold, that is the closest to the old one: a step
// closer, they do not. A new probe is best with few failures, little delay and its period in x.
func (s *search) nearest(x setting, p place) int32 {
	old, step := s.old.at(p), int32(1)
	if !s.old.has(p.kind) {
		if old = least[p.field]; p.field == period {
			return x.at(p)
		}
	}
	if x.at(p) < old {
		step = -1
	}
	return old + step*int32(sort.Search(int(step*(x.at(p)-old)), func(i int) bool { return s.meets(x.with(p, old+step*int32(i)), s.require) }))
}

// subsets returns the sets of n fields to change. A new probe always counts with its period and its threshold.
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

// split divides fields into those whose value follows from the requirements, at most one for each probe, and those to try values of. A row with one more
// failure is never smaller, so a threshold follows. The rows do not always grow with a time, so it follows only if there are many to
// try.
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

// try replaces best by a cheaper setting that differs from x in some fields, if there is one. It has a number of changed fields.
func (s *search) try(x setting, free, solved []place, changed int, best *candidate) {
	if c := s.candidate(x); !(cost{changed, c.relative}).less(best.cost) {
		return
	}
	if len(free) == 0 {
		if s.solve(&x, solved) {
			if c := s.candidate(x); c.less(best.cost) {
				*best = c
			}
		}
		return
	}
	if s.hopeless(x, append(slices.Clone(free), solved...)) {
		return
	}
	p := free[0]
	upTo := max(x.at(p), min(s.longest, 60))
	switch {
	case len(solved) == 0: // few fields
		upTo = s.most(x, p)
	case p.field == delay: // after a crash while starting, only a delay that is longer than the start helps
		upTo = max(upTo, min(s.retry+5, s.most(x, p)))
	}
	for by := int32(0); by <= max(x.at(p)-least[p.field], upTo-x.at(p)); by++ { // the closest values first
		if low := x.at(p) - by; low >= least[p.field] {
			s.try(x.with(p, low), free[1:], solved, changed, best)
		}
		if high := x.at(p) + by; by > 0 && high <= upTo {
			s.try(x.with(p, high), free[1:], solved, changed, best)
		}
	}
}

// hopeless reports whether a setting misses a requirement whatever some of its fields are, as their least, present and greatest values show. With a short period,
// a startup probe soon corrects that the kubelet has carried over the start of the instance before.
func (s *search) hopeless(x setting, of []place) bool {
	low, often, high := x, x, x
	for _, p := range of {
		low.set(p, least[p.field])
		high.set(p, s.most(high, p))
		if often.set(p, high.at(p)); p.field == period {
			often.set(p, least[period])
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
					y.set(p, least[threshold])
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

// closer goes towards the old setting as long as the requirements hold: no field on which they depend can be one step closer to its old value.
func (s *search) closer(x setting) setting {
	for before := (setting{}); x != before; {
		before = x
		for _, p := range s.places(x) {
			x.set(p, s.nearest(x, p))
		}
	}
	return x
}
