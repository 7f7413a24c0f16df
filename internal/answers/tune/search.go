package tune

import (
	"math"
	"slices"
	"sort"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
)

// search looks for the smallest change of a setting that meets requirements.
type search struct {
	*subject
	require check.Requirements // to meet
	limits  check.Requirements // of them, each sort
	times   check.Requirements
	longest int32   // the longest time that a requirement names, in seconds
	retry   int32   // the one for a start after a crash while starting, or 0
	floor   setting // the least values of the fields
	grace   int32   // of a kill by the liveness probe; 0: as it is
}

func (s *subject) search(require check.Requirements) *search {
	one := &search{subject: s, require: require}
	for _, q := range require {
		least := int32(math.Ceil(q.Duration.Seconds()))
		if one.longest = max(one.longest, least); q.Row == check.Retry {
			one.retry = max(one.retry, least)
		}
	}
	one.limits, one.times = sorted(require)
	one.floor = s.leastFor(require)
	return one
}

// leastFor returns the least values that fields can have with some requirements. How long an answer
// may take only depends on the timeout.
func (s *subject) leastFor(require check.Requirements) (floor setting) {
	for k := range kinds {
		floor[k] = least
		p, old := s.versions[0].Probe(types[k]), s.old[k]
		for _, q := range require {
			about := q.Row == check.Answer && k != readiness || q.Row == check.ServingAnswer && k == readiness
			if about && (p == nil || p.TCPSocket == nil) {
				floor[k][timeout] = max(floor[k][timeout], int32(math.Ceil(q.Duration.Seconds())))
			}
		}
		if k == startup && !s.old.has(k) {
			floor[k][timeout] = max(floor[k][timeout], s.added[timeout])
			floor[k][period] = floor[k][timeout] + 1
		}
		if !s.cautious || !s.old.has(k) {
			continue
		}
		if p != nil && p.TCPSocket == nil { // see exec-timeout and answer-timeout of check
			floor[k][timeout] = max(floor[k][timeout], min(old[timeout], 2))
		}
		if k == liveness { // see one-failure
			floor[k][threshold] = min(old[threshold], 2)
		}
		if old[timeout] < old[period] { // see long-timeout
			floor[k][period] = floor[k][timeout] + 1
		}
	}
	return floor
}

// above returns a setting with fields that are at least as great as they must be.
func (s *search) above(x setting) setting {
	for k := range kinds {
		if x.has(k) {
			x[k][timeout] = max(x[k][timeout], s.floor[k][timeout])
			x[k][period] = max(x[k][period], s.floor[k][period])
		}
	}
	if s.grace > 0 {
		x[liveness][grace] = s.grace
	}
	return x
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

// implied adds requirements that follow from some: a container that its liveness probe kills in a
// stall does not stay in its Service.
func (s *subject) implied(asked ...check.Requirement) check.Requirements {
	all := slices.Clone(asked)
	for _, q := range asked {
		follows, some := map[check.RowID]check.RowID{check.Serving: check.Stall,
			check.ServingSilence: check.Silence, check.ServingErrors: check.Errors}[q.Row]
		if r := (check.Requirement{Container: q.Container, Row: follows, Duration: q.Duration}); some &&
			s.old.has(liveness) && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// result is a setting that a search finds.
type result struct {
	setting
	limits bool          // it keeps the limits
	late   time.Duration // by how much it misses the times
}

func (r result) met() bool { return r.limits && r.late == 0 }

// find returns the setting with the smallest change that meets the requirements. It prefers a new
// startup probe, which leaves the liveness probe as it is. If no setting meets them all, it returns
// the one that keeps the limits and comes closest to the times.
func (s *search) find() result {
	best := s.result(s.old)
	if best.met() {
		return best
	}
	for i, base := range s.bases() {
		r := s.fastest(base)
		if r.met() {
			r.setting = s.smallest(base)
		}
		if i == 0 || r.limits && (!best.limits || r.late < best.late) ||
			r.met() && s.candidate(r.setting).less(s.candidate(best.setting).cost) {
			best = r
		}
		if r.met() && !s.old.has(startup) && r.has(startup) && r.setting[liveness] == s.above(s.old)[liveness] {
			return r // people add a startup probe for long starts, and the liveness probe stays as quick as it is
		}
	}
	return best
}

// graces are the grace periods, in seconds, that a liveness probe can get: a program that hangs
// need not have the time of one that is drained.
var graces = []int32{60, 30, 10, 5}

// findWithGrace is find. If no setting meets a requirement on the time to recover, it gives the
// liveness probe a grace period of its own: the longest of those with which the fewest fields
// change.
func (s *search) findWithGrace(now int64) result {
	best := s.find()
	if best.met() || !s.old.has(liveness) || !slices.ContainsFunc(s.require,
		func(q check.Requirement) bool { return q.Row == check.Recover }) {
		return best
	}
	if own := s.old[liveness][grace]; own > 0 {
		now = int64(own)
	}
	for _, g := range graces {
		one := *s
		if one.grace = g; int64(g) >= now {
			continue
		}
		if r := one.find(); r.met() && (!best.met() || len(r.changes(s.old)) < len(best.changes(s.old))) {
			best = r
		}
	}
	return best
}

func (s *search) result(x setting) result {
	r := result{setting: x, limits: s.meets(x, s.limits)}
	for _, q := range s.times {
		r.late += min(max(0, -s.margin(x, q)), time.Hour)
	}
	return r
}

// bases returns the settings to begin with: the old one, and the old one with a startup probe if
// that can help.
func (s *search) bases() []setting {
	starts := slices.ContainsFunc(s.require, func(q check.Requirement) bool {
		return q.Row == check.Start || q.Row == check.Restart || q.Row == check.Retry
	})
	if s.old.has(startup) || !s.old.has(liveness) || !starts {
		return []setting{s.above(s.old)}
	}
	added := s.old
	added[startup] = s.added
	return []setting{s.above(s.old), s.above(added)}
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

// fastest returns the setting that keeps the limits with the shortest times, if there is one.
// Longer periods and delays and higher thresholds make no time shorter, and a period of a second
// with the threshold that suffices exceeds a limit by the least. Only a start after a crash while
// starting needs a delay. A readiness probe can also have a longer timeout: it ends no run that the
// program refuses, but those of gRPC.
func (s *search) fastest(base setting) (best result) {
	places := s.places(base)
	for i, last := range [][]field{{threshold, timeout}, {timeout, threshold}} {
		x := base
		for _, p := range places {
			x.set(p, s.floor.at(p))
		}
		needed := slices.DeleteFunc([]place{
			{startup, delay}, {readiness, delay}, {startup, threshold}, {liveness, threshold}, {readiness, last[0]},
			{readiness, last[1]},
		}, func(p place) bool { return !slices.Contains(places, p) })
		for _, p := range needed {
			x.set(p, s.most(x, p))
		}
		if !s.meets(x, s.limits) {
			return result{setting: x}
		}
		for _, p := range needed {
			x.set(p, s.lowest(x, p))
		}
		if r := s.result(x); i == 0 || r.late < best.late {
			best = r
		}
	}
	return best
}

// most returns a value of a field of a setting that is more than enough for all limits. No
// threshold helps a start after a crash while starting, not even one so high that the probe counts
// as none.
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

// lowest returns the least value of a field with which the limits hold. They hold with its value in
// x.
func (s *search) lowest(x setting, p place) int32 {
	low := s.floor.at(p)
	return low + int32(sort.Search(int(x.at(p)-low),
		func(i int) bool { return s.meets(x.with(p, low+int32(i)), s.limits) }))
}
