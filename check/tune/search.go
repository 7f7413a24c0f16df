package tune

import (
	"cmp"
	"math"
	"slices"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// search looks for the smallest change of a setting that meets requirements.
type search struct {
	*oracle
	old     setting
	asked   check.Requirements // to meet
	require check.Requirements // those, and others that follow from them

	// closest is the setting that meets the limits and misses the times by the least, as far as single runs show. It is only of
	// interest if no setting meets all requirements.
	closest     setting
	closestMiss time.Duration
	found       bool // of a search that is over
	err         error
}

// search returns a search for the smallest change of a setting that meets some requirements.
func (o *oracle) search(old setting, asked check.Requirements) *search {
	return &search{oracle: o, old: old, asked: asked, require: implied(old, asked)}
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

// maxFields is the maximum number of fields that a search changes.
const maxFields = 5

// fewFields is the number of fields up to which a search has few settings to try.
const fewFields = 2

// contradictory reports whether no setting meets one of the requirements, or two of them. A search for few requirements has fewer settings to try.
func (s *search) contradictory() bool {
	for _, set := range append(s.single(), s.pairs()...) {
		if len(set) == len(s.asked) {
			continue
		}
		one, err := s.part(set)
		if err != nil {
			s.err = err
		}
		if err != nil || !one.found {
			return true
		}
	}
	return false
}

// find returns the setting. It returns false if there is none.
func (s *search) find() (setting, bool, error) {
	s.closestMiss = bounds.Never
	if s.ok(s.old) || s.err != nil {
		return s.old, s.err == nil, s.err
	}
	if s.tooShort() || s.err != nil {
		return s.old, false, s.err
	}
	best, found := s.apart()
	if !found && s.err == nil && s.closestMiss == bounds.Never {
		best, found = s.together()
	}
	if found {
		s.exact = true
		if found = s.ok(best); found {
			best = s.closer(best)
		}
		s.exact = false
	}
	return best, found && s.err == nil, s.err
}

// tooShort reports whether the quickest setting misses a time, so that each setting does: all rows grow with all fields. Where the quickest setting
// never gets there, because the answers take longer than its timeout, it says nothing.
func (s *search) tooShort() bool {
	for _, q := range times(s.require) {
		quickest := s.old
		for _, p := range relevant(s.old, string(q.Row)) {
			quickest.set(p, least[p.field])
		}
		m, err := s.margin(quickest, q, true)
		if err != nil {
			s.err = err
			return false
		}
		if m < 0 && q.Duration-m < bounds.Never {
			s.closest, s.closestMiss = quickest, -m
			return true
		}
	}
	return false
}

// together searches for all requirements at once, fewer changed fields first.
func (s *search) together() (best setting, found bool) {
	for n := 1; n <= maxFields && !found && s.err == nil; n++ {
		if n > fewFields && s.contradictory() {
			break
		}
		for _, base := range s.bases() {
			for _, subset := range subsets(s.places(base), n, base, s.old) {
				if x, ok := s.best(base, subset, best, found); ok {
					best, found = x, true
				}
			}
		}
	}
	return best, found
}

// ok reports whether a setting meets all requirements over all nodes.
func (s *search) ok(x setting) bool {
	if s.err != nil {
		return false
	}
	var ok bool
	ok, s.err = s.holds(x, s.require, true)
	return ok
}

// possible reports whether one node does not show that a setting misses requirements.
func (s *search) possible(x setting, list check.Requirements) bool {
	if s.err != nil {
		return false
	}
	var ok bool
	ok, s.err = s.holds(x, list, false)
	return ok
}

// hopeless reports whether a setting surely misses requirements over all nodes.
func (s *search) hopeless(x setting, list check.Requirements) bool {
	if s.err != nil {
		return true
	}
	var missed bool
	missed, s.err = s.misses(x, list)
	return missed || s.err != nil
}

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
	added := s.old
	added[startup] = s.old[liveness]
	added[startup][delay] = 0
	added[startup][period] = min(added[startup][period], addedPeriod)
	added[startup][timeout] = min(added[startup][timeout], addedTimeout)
	return append(list, added)
}

// places returns the fields on which the required rows depend.
func (s *search) places(base setting) []place {
	var list []place
	for _, q := range s.require {
		for _, p := range relevant(base, string(q.Row)) {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
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

// longest is the longest time that a requirement names, in seconds.
func (s *search) longest() int32 {
	var d time.Duration
	for _, q := range s.require {
		d = max(d, q.Duration)
	}
	return roundedUp(d)
}

// roundedUp is a duration in seconds.
func roundedUp(d time.Duration) int32 { return int32(min(math.Ceil(d.Seconds()), 1e6)) }

// best returns the setting with the smallest cost that changes the fields of a subset and meets the requirements, if it costs less
// than another one.
func (s *search) best(base setting, subset []place, than setting, has bool) (setting, bool) {
	solved, free := split(subset)
	var candidates []setting
	s.assign(base, free, func(x setting) {
		if y, ok := s.solve(x, solved); ok {
			candidates = append(candidates, y...)
		}
	})
	slices.SortStableFunc(candidates, func(a, b setting) int {
		x, y := a.cost(s.old), b.cost(s.old)
		return cmp.Or(cmp.Compare(x.fields, y.fields), cmp.Compare(x.relative, y.relative))
	})
	for _, x := range candidates {
		if has && !x.cost(s.old).less(than.cost(s.old)) {
			return setting{}, false
		}
		if y, ok := s.settle(x, solved); ok && (!has || y.cost(s.old).less(than.cost(s.old))) {
			return y, true
		}
	}
	return setting{}, false
}

// split divides fields into those whose value follows from the limits, at most one for each probe, and the others.
func split(subset []place) (solved, free []place) {
	for k := range kinds {
		for _, f := range []field{threshold, delay, period, timeout} {
			if p := (place{k, f}); slices.Contains(subset, p) {
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

// assign calls a function with all combinations of the values of some fields.
func (s *search) assign(x setting, free []place, try func(setting)) {
	if s.err != nil {
		return
	}
	if len(free) == 0 {
		try(x)
		return
	}
	p := free[0]
	for _, v := range s.choices(p, x) {
		if v == s.old.at(p) && s.old.has(p.kind) {
			continue // a smaller subset has it
		}
		s.assign(x.with(p, v), free[1:], try)
	}
}

// choices returns the values of a field to combine with those of others.
func (s *search) choices(p place, x setting) []int32 {
	i := slices.IndexFunc(s.require, func(q check.Requirement) bool { return q.Row == check.Retry })
	if i < 0 || p != (place{startup, delay}) {
		return values(p, x.at(p), min(s.longest(), 60))
	}
	// After a crash while starting, the failures before it count. Only a delay that is longer than the start helps.
	var list []int32
	for v := range int32(6) {
		if v += roundedUp(s.require[i].Duration); v <= greatest(delay) {
			list = append(list, v)
		}
	}
	return list
}

// solve sets the fields whose value follows from the requirements. All rows grow with all fields, so the limits give the least value
// of a field, and the times the greatest. solve returns the value between them that is the closest to the old one, as far as single
// runs show.
func (s *search) solve(x setting, solved []place) ([]setting, bool) {
	atLeast, atMost := limits(s.require), times(s.require)
	quickest := x
	for _, p := range solved {
		quickest.set(p, least[p.field])
	}
	if s.farther(quickest, atMost) {
		return nil, false
	}
	for i, p := range solved {
		required := s.about(p.kind, x, atLeast)
		y := x.with(p, least[p.field])
		for _, later := range solved[i+1:] { // which may limit the same rows with its old value
			if slices.ContainsFunc(required, func(q check.Requirement) bool { return slices.Contains(relevant(x, string(q.Row)), later) }) {
				y.set(later, s.most(later.field))
			}
		}
		low, ok := s.lowest(y, p, required)
		if !ok {
			return nil, false
		}
		x.set(p, low)
	}
	if s.hopeless(x, atMost) || !s.possible(x, atMost) {
		s.miss(x, atMost)
		return nil, false
	}
	// The limits hold, and so do the times. Now go towards the old values.
	for _, p := range solved {
		if old := s.old.at(p); s.old.has(p.kind) && x.at(p) < old {
			x.set(p, s.highest(x, p, old, atMost))
		}
	}
	return []setting{x}, s.err == nil
}

// about returns the requirements that depend on a probe.
func (s *search) about(k kind, x setting, list check.Requirements) check.Requirements {
	return slices.DeleteFunc(slices.Clone(list), func(q check.Requirement) bool {
		return !slices.ContainsFunc(relevant(x, string(q.Row)), func(p place) bool { return p.kind == k })
	})
}

// most returns a value of a field that is more than enough for all limits.
func (s *search) most(f field) int32 { return min(2*s.longest()+10, greatest(f)) }

// lowest returns the least value of a field with which some limits can hold. It returns false if no value suffices.
func (s *search) lowest(x setting, p place, atLeast check.Requirements) (int32, bool) {
	most := s.most(p.field)
	if s.hopeless(x.with(p, most), atLeast) {
		return 0, false
	}
	enough := func(v int32) bool {
		y := x.with(p, v)
		return !s.hopeless(y, atLeast) && s.possible(y, atLeast)
	}
	if enough(x.at(p)) {
		return x.at(p), true
	}
	low := x.at(p) // which does not suffice
	high := min(max(low+1, s.guess(x, p)), most)
	for next := int64(max(1, high/8)); !enough(high); next *= 2 {
		if s.err != nil || high == most {
			return 0, false
		}
		low, high = high, int32(min(int64(high)+next, int64(most)))
	}
	if high > low+1 && !enough(high-1) { // the guess is often right
		return high, s.err == nil
	}
	for high > low+1 {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, s.err == nil
}

// guess returns a value of a field with which the limits may just hold. It is where a search begins.
func (s *search) guess(x setting, p place) int32 {
	longest := s.longest()
	switch v := x[p.kind]; p.field {
	case threshold:
		return (longest-v[delay])/max(1, v[period]) + 1
	case period:
		return longest / max(1, v[threshold])
	case delay:
		return longest - v[period]*(v[threshold]-1)
	}
	return longest / 2
}

// highest returns the greatest value of a field, up to a value, with which some times can hold. They hold with the value that x has.
func (s *search) highest(x setting, p place, upTo int32, atMost check.Requirements) int32 {
	if s.possible(x.with(p, upTo), atMost) {
		return upTo
	}
	low, high := x.at(p), upTo
	for high > low+1 && s.err == nil {
		if middle := low + (high-low)/2; s.possible(x.with(p, middle), atMost) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// farther reports whether a setting surely misses times, and by no less than the closest setting so far.
func (s *search) farther(x setting, atMost check.Requirements) bool {
	var sum time.Duration
	for _, q := range atMost {
		by, _, err := s.missesBy(x, q)
		if err != nil {
			s.err = err
			return true
		}
		sum += min(by, time.Hour)
	}
	return sum > 0 && sum >= s.closestMiss
}

// miss remembers the setting that misses times by the least.
func (s *search) miss(x setting, atMost check.Requirements) {
	var sum time.Duration
	for _, q := range atMost {
		by, exact, err := s.missesBy(x, q)
		if err == nil && !exact {
			by, err = s.margin(x, q, false)
			by = -by
		}
		if err != nil {
			s.err = err
			return
		}
		if by > 0 {
			sum += min(by, time.Hour)
		}
	}
	if sum < s.closestMiss {
		s.closest, s.closestMiss = x, sum
	}
}

// maxSteps is how often settle changes a setting.
const maxSteps = 12

// settle returns a setting that meets the requirements over all nodes, with values that may differ a little from those that meet
// them on one node.
func (s *search) settle(x setting, solved []place) (setting, bool) {
	for range maxSteps {
		if s.ok(x) {
			return x, true
		}
		if s.err != nil || !s.step(&x, solved) {
			break
		}
	}
	return setting{}, false
}

// step changes a setting by one in the field of a probe that misses a requirement.
func (s *search) step(x *setting, solved []place) bool {
	for _, q := range s.require {
		m, err := s.margin(*x, q, true)
		if err != nil {
			s.err = err
			return false
		}
		if m >= 0 {
			continue
		}
		for _, p := range solved {
			if !slices.ContainsFunc(relevant(*x, string(q.Row)), func(r place) bool { return r.kind == p.kind }) {
				continue
			}
			to := x.at(p) + 1
			if !q.Row.IsLimit() {
				to = x.at(p) - 1
			}
			if to < least[p.field] || to > greatest(p.field) {
				continue
			}
			y := x.with(p, to)
			if !s.possible(y, limits(s.require)) || !s.possible(y, times(s.require)) {
				continue
			}
			*x = y
			return true
		}
		return false
	}
	return false
}

// closer goes towards the old setting as long as the requirements hold: the value of no changed field can be one step closer to its
// old value.
func (s *search) closer(x setting) setting {
	for again := true; again && s.err == nil; {
		again = false
		for _, p := range x.changes(s.old) {
			if !s.old.has(p.kind) { // a new probe: fewer failures, less delay
				if p.field != period && x.at(p) > least[p.field] && s.ok(x.with(p, x.at(p)-1)) {
					x.set(p, x.at(p)-1)
					again = true
				}
				continue
			}
			y := x.with(p, x.at(p)+sign(s.old.at(p)-x.at(p)))
			if s.ok(y) {
				x, again = y, true
			}
		}
	}
	return x
}

func sign(n int32) int32 {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}
