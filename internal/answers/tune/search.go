package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/trace"
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

// why returns why no setting meets the requirements, in a sentence for each single one that no
// setting meets, or else for each pair of a limit and a time. If there is neither, it takes all
// requirements together.
func (s *subject) why(asked check.Requirements) []string {
	var single, pairs []check.Requirements
	for i, q := range asked {
		single = append(single, check.Requirements{q})
		for _, r := range asked[i+1:] {
			if q.Row.IsLimit() != r.Row.IsLimit() {
				pairs = append(pairs, check.Requirements{q, r})
			}
		}
	}
	for _, sets := range [][]check.Requirements{single, pairs, {asked}} {
		var list []string
		for _, set := range sets {
			if r := s.search(s.implied(set...)).find(); !r.met() {
				list = append(list, s.contradiction(r, set))
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// contradiction returns why no setting meets some requirements: the closest setting, which keeps
// the limits, has a time that is too long.
func (s *subject) contradiction(closest result, asked check.Requirements) string {
	list, times := sorted(asked)
	limits := len(list)
	slices.SortStableFunc(times, func(a, b check.Requirement) int {
		return -cmp.Compare(s.margin(closest.setting, a), s.margin(closest.setting, b))
	})
	list = append(list, times...)
	last := list[len(list)-1] // which is the farthest away
	m := s.marginOf(closest.setting, last)
	if !closest.limits || m.Margin >= 0 || m.Value.IsNever() {
		return "no setting was found that meets " + together(list)
	}
	best := fmt.Sprintf("%s, which is %s too long", check.FormatUp(m.Value), check.FormatUp(-m.Margin))
	others := "the others"
	switch {
	case limits == 0:
		return fmt.Sprintf("no setting meets %s: the best that was found is %s", together(list), best)
	case len(list) == 2:
		others = "the first"
	}
	return fmt.Sprintf("%s contradict each other: with %s, %s is at best %s", together(list), others, last.Row, best)
}

// together lists requirements for people.
func together(list check.Requirements) string {
	return printable.And(printable.Words(list, check.Requirement.String))
}

func (s *subject) marginOf(x setting, q check.Requirement) Margin {
	return Margin{Requirement: q.String(), Value: s.guaranteed(x, q.Row), Margin: value.Seconds(s.margin(x, q))}
}

// kind is the type of a probe.
type kind int

const (
	startup kind = iota
	liveness
	readiness
	kinds
)

// types are the kinds as package trace has them.
var types = [kinds]trace.Probe{trace.Startup, trace.Liveness, trace.Readiness}

func (k kind) String() string { return string(types[k]) + "Probe" }

// field is one of the numbers of a probe.
type field int

const (
	delay field = iota
	period
	timeout
	threshold
	grace // of a kill by the probe; 0: that of the pod
	fields
)

var fieldNames = [fields]string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold",
	"terminationGracePeriodSeconds"}

// least is the smallest value that Kubernetes accepts.
var least = [fields]int32{0, 1, 1, 1, 0}

// place is a field of a probe.
type place struct {
	kind  kind
	field field
}

func (p place) String() string { return p.kind.String() + "." + fieldNames[p.field] }

// Setting has the fields of the probes of a container. A probe with a period of 0 does not exist.
type setting [kinds][fields]int32

func (s setting) has(k kind) bool        { return s[k][period] > 0 }
func (s setting) at(p place) int32       { return s[p.kind][p.field] }
func (s *setting) set(p place, to int32) { s[p.kind][p.field] = to }

// with returns the setting with another value in a field.
func (s setting) with(p place, to int32) setting {
	s.set(p, to)
	return s
}

func settingOf(c *v1.Container) (s setting) {
	for k, of := range types {
		if p := prober.ProbeOf(c, of); p != nil {
			s[k] = [fields]int32{p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold, 0}
			if g := p.TerminationGracePeriodSeconds; g != nil {
				s[k][grace] = int32(min(*g, bounds.LongestGracePeriod))
			}
		}
	}
	return s
}

// probe returns a probe with the fields of the setting, or nil. A container without it gets the
// handler of another one.
func (s setting) probe(k kind, own, like *v1.Probe) *v1.Probe {
	if !s.has(k) {
		return nil
	}
	p := *cmp.Or(own, like)
	if own == nil {
		p.TerminationGracePeriodSeconds = nil
	}
	p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold = s[k][delay], s[k][period],
		s[k][timeout], s[k][threshold]
	if g := s[k][grace]; g > 0 && (own == nil || own.TerminationGracePeriodSeconds == nil ||
		*own.TerminationGracePeriodSeconds != int64(g)) {
		p.TerminationGracePeriodSeconds = new(int64(g))
	}
	return &p
}

// apply changes a container to have the setting, and the probes that are new.
func (s setting) apply(c *v1.Container, added [kinds]*v1.Probe) {
	for k, of := range types {
		if s.has(kind(k)) {
			prober.SetProbe(c, of, s.probe(kind(k), prober.ProbeOf(c, of), added[k]))
		}
	}
}

// changes returns the fields that differ. A new probe changes the fields that make it: the period
// and the threshold, and a delay.
func (s setting) changes(old setting) []place {
	var list []place
	for k := range kinds {
		for f := range fields {
			p := place{k, f}
			added := s.has(k) && !old.has(k) && (f == period || f == threshold || f == delay && s.at(p) > 0)
			if added || old.has(k) && s.at(p) != old.at(p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// cost says how big a change is. Fewer fields count first, then the sum of the relative changes.
type cost struct {
	fields   int
	relative float64
}

func (c cost) less(d cost) bool {
	return c.fields < d.fields || c.fields == d.fields && c.relative < d.relative-tie/2
}

// tie is the difference of the relative changes of two settings that cost the same.
const tie = 1e-6

func (s setting) costs(old setting, addedPeriod int32) cost {
	var c cost
	for _, p := range s.changes(old) {
		c.fields++
		before := float64(old.at(p))
		switch {
		case old.has(p.kind):
		case p.field == period:
			before = float64(addedPeriod)
		default: // a new probe is best with as few failures and as little delay as possible
			c.relative += float64(s.at(p)) / 100
			continue
		}
		c.relative += math.Abs(float64(s.at(p))-before) / max(1, before)
	}
	return c
}

// relevant are the fields of the probes that a row depends on. A row without a startup probe
// depends on the liveness probe instead.
func relevant(s setting, row check.RowID) []place {
	killer := startup
	if !s.has(startup) {
		killer = liveness
	}
	runs := func(k kind) []place { return []place{{k, threshold}, {k, period}, {k, timeout}} }
	comesUp := []place{{startup, period}, {startup, delay}, {startup, timeout}, {readiness, period}, {readiness, delay},
		{readiness, timeout}}
	var list []place
	switch row {
	case check.Start, check.Restart, check.Retry:
		list = runs(killer)
		// a delay of the liveness probe also delays it after a quick start; a startup probe does
		// not
		if killer == startup {
			list = append(list, place{startup, delay})
		}
		if killer == startup && row == check.Restart {
			list = append(list, runs(liveness)...)
		}
	case check.Stall, check.Silence, check.Errors, check.Detect:
		list = runs(liveness)
	case check.Serving, check.ServingSilence, check.ServingErrors, check.Unready, check.HungUnready:
		list = runs(readiness)
	case check.Ready:
		list = comesUp
	case check.Recover:
		list = append(runs(liveness), comesUp...)
	}
	return slices.DeleteFunc(list, func(p place) bool { return !s.has(p.kind) })
}
