package tune

import (
	"slices"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// apart searches each group of requirements that depend on the same probes by itself, and the one of the readiness probe last: whether a container
// stays in its Service also depends on its liveness probe. apart returns false if there is only one group, if a group has no solution, or if the
// solutions do not fit together.
func (s *search) apart() (setting, bool) {
	groups := s.groups()
	if len(groups) < 2 {
		return setting{}, false
	}
	all := s.old
	for _, g := range groups {
		one := &search{oracle: s.oracle, old: all, asked: g, require: g, closestMiss: bounds.Never}
		found := one.ok(all)
		x := all
		if !found {
			x, found = one.together()
		}
		if s.err = one.err; s.err != nil {
			return setting{}, false
		}
		if !found {
			s.closest, s.closestMiss = one.closest, min(one.closestMiss, bounds.Never-1)
			return setting{}, false
		}
		all = x
	}
	return all, s.ok(all)
}

// groups divides the requirements into groups that depend on different probes. Those of the readiness probe come last.
func (s *search) groups() []check.Requirements {
	var groups []check.Requirements
	var of [][]kind
	for _, q := range s.require {
		var ks []kind
		for _, p := range relevant(s.old, string(q.Row)) {
			ks = append(ks, p.kind)
		}
		into := -1
		for i := 0; i < len(groups); i++ {
			if !slices.ContainsFunc(of[i], func(k kind) bool { return slices.Contains(ks, k) }) {
				continue
			}
			if into < 0 {
				into = i
				groups[i], of[i] = append(groups[i], q), append(of[i], ks...)
				continue
			}
			groups[into], of[into] = append(groups[into], groups[i]...), append(of[into], of[i]...)
			groups, of = slices.Delete(groups, i, i+1), slices.Delete(of, i, i+1)
			i--
		}
		if into < 0 {
			groups, of = append(groups, check.Requirements{q}), append(of, ks)
		}
	}
	last := func(g check.Requirements) bool {
		return slices.ContainsFunc(g, func(q check.Requirement) bool { return q.Row == check.Serving || q.Row == check.Unready })
	}
	first := slices.DeleteFunc(slices.Clone(groups), last)
	return append(first, slices.DeleteFunc(groups, func(g check.Requirements) bool { return !last(g) })...)
}
