package tune

import (
	"slices"

	"probesim.dev/check"
)

// trades are the rows of a probe that contradict each other: the limit says what the container may do without a consequence, and the
// time how fast the consequence comes.
var trades = []struct {
	kind        kind
	limit, time check.RowID
}{
	{startup, check.Start, check.Ready},
	{liveness, check.Stall, check.Detect},
	{readiness, check.Serving, check.Unready},
}

// frontierPeriods are the periods of the settings on a frontier.
var frontierPeriods = []int32{1, 2, 5, 10, 20}

// frontiers finds settings that trade the rows of a probe against each other, for each probe that changes. Each setting has the least
// threshold with which the limits hold that are required of the probe. The limit to show is one of them.
func (s *search) frontiers(c *Container) error {
	for _, t := range trades {
		changed := slices.ContainsFunc(c.Changes, func(x Change) bool { return x.place.kind == t.kind })
		required := s.about(t.kind, c.now, limits(s.require))
		if !changed || len(required) == 0 {
			continue
		}
		limit := t.limit
		if !slices.ContainsFunc(required, func(q check.Requirement) bool { return q.Row == limit }) {
			limit = required[0].Row
		}
		f := Frontier{Probe: kindNames[t.kind], Limit: limit, Time: t.time}
		periods := slices.Clone(frontierPeriods)
		if now := c.now[t.kind][period]; !slices.Contains(periods, now) {
			periods = append(periods, now)
			slices.Sort(periods)
		}
		for _, v := range periods {
			p, ok, err := s.point(c.now, t.kind, v, required, limit, t.time)
			if err != nil {
				return err
			}
			if ok {
				f.Settings = append(f.Settings, p)
			}
		}
		f.Settings = undominated(f.Settings)
		if len(f.Settings) > 1 {
			c.Frontiers = append(c.Frontiers, f)
		}
	}
	return nil
}

// point returns the setting of a probe with a period and the least threshold with which some limits hold.
func (s *search) point(now setting, k kind, of int32, required check.Requirements, limit, time check.RowID) (FrontierPoint, bool, error) {
	at := place{k, threshold}
	x := now.with(place{k, period}, of)
	if of != now[k][period] {
		low, ok := s.lowest(x.with(at, 1), at, required)
		if s.err != nil || !ok {
			return FrontierPoint{}, false, s.err
		}
		x.set(at, low)
		for range maxSteps { // single runs are a little too optimistic
			enough, err := s.holds(x, required, true)
			if err != nil {
				return FrontierPoint{}, false, err
			}
			if enough {
				break
			}
			x.set(at, x.at(at)+1)
		}
	}
	p := FrontierPoint{Period: of, Timeout: x[k][timeout], Threshold: x.at(at), PerMinute: 60 / float64(of), Met: s.ok(x), Chosen: x == now}
	for _, v := range []struct {
		row check.RowID
		to  *check.Seconds
	}{{limit, &p.Limit}, {time, &p.Time}} {
		found, err := s.values(x, v.row, true)
		if err != nil || len(found) == 0 {
			return p, false, err
		}
		_, worst := check.Requirement{Row: v.row}.Margin(found)
		*v.to = seconds(worst.Greatest)
		if v.row.IsLimit() {
			*v.to = seconds(worst.Least)
		}
	}
	return p, true, s.err
}

// undominated drops settings of which another one is at least as good in all figures. It keeps the chosen one.
func undominated(list []FrontierPoint) []FrontierPoint {
	var left []FrontierPoint
	for _, p := range list {
		better := func(q FrontierPoint) bool {
			return q.Limit >= p.Limit && q.Time <= p.Time && q.PerMinute <= p.PerMinute && (q.Limit > p.Limit || q.Time < p.Time || q.PerMinute < p.PerMinute)
		}
		if p.Chosen || !slices.ContainsFunc(list, better) {
			left = append(left, p)
		}
	}
	return left
}
