package tune

import (
	"slices"

	"probesim.dev/internal/answers/check"
)

// trades are the rows of a probe that contradict each other: the limit says what the container may
// do without a consequence, and the time how fast the consequence comes.
var trades = []struct {
	kind        kind
	limit, time check.RowID
}{
	{startup, check.Start, check.Ready},
	{liveness, check.Stall, check.Detect},
	{readiness, check.Serving, check.Unready},
}

// frontiers finds settings that trade the rows of a probe against each other, for each probe that
// changes. Each setting has the least threshold with which the limits hold that are required of the
// probe. The limit to show is one of them.
func (s *search) frontiers(c *Container) {
	for _, t := range trades {
		changed := slices.ContainsFunc(c.Changes, func(x Change) bool { return x.place.kind == t.kind })
		required := about(t.kind, c.now, s.limits)
		if !changed || len(required) == 0 {
			continue
		}
		limit := t.limit
		if !slices.ContainsFunc(required, func(q check.Requirement) bool { return q.Row == limit }) {
			limit = required[0].Row
		}
		f := Frontier{Probe: kindNames[t.kind], Limit: limit, Time: t.time}
		periods := []int32{1, 2, 5, 10, 20, c.now[t.kind][period]}
		slices.Sort(periods)
		for _, v := range slices.Compact(periods) {
			x := c.now.with(place{t.kind, period}, v)
			if at := (place{t.kind, threshold}); x != c.now {
				x.set(at, s.most(x, at))
				if !s.meets(x, s.limits) {
					continue
				}
				x.set(at, s.lowest(x, at))
			}
			f.Settings = append(f.Settings, FrontierPoint{
				Period: v, Timeout: x[t.kind][timeout], Threshold: x[t.kind][threshold], PerMinute: 60 / float64(v),
				Limit: s.guaranteed(x, limit), Time: s.guaranteed(x, t.time), Met: s.meets(x, s.require),
				Chosen: x == c.now,
			})
		}
		if f.Settings = undominated(f.Settings); len(f.Settings) > 1 {
			c.Frontiers = append(c.Frontiers, f)
		}
	}
}

// about returns the requirements that depend on a probe.
func about(k kind, x setting, list check.Requirements) check.Requirements {
	return slices.DeleteFunc(slices.Clone(list), func(q check.Requirement) bool {
		return !slices.ContainsFunc(relevant(x, q.Row), func(p place) bool { return p.kind == k })
	})
}

// undominated drops settings of which another one is at least as good in all figures. It keeps the
// chosen one.
func undominated(list []FrontierPoint) []FrontierPoint {
	var left []FrontierPoint
	for _, p := range list {
		better := func(q FrontierPoint) bool {
			return q.Limit >= p.Limit && q.Time <= p.Time && q.PerMinute <= p.PerMinute && (q.Limit > p.Limit ||
				q.Time < p.Time || q.PerMinute < p.PerMinute)
		}
		if p.Chosen || !slices.ContainsFunc(list, better) {
			left = append(left, p)
		}
	}
	return left
}
