package bounds

import (
	"errors"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// extreme returns the cases in which the kubelet sees the start of the instance as early or as late as possible, and in which as many or
// as few probes as possible fail between an exit and the start. The later the kubelet sees the start, and the fewer probes fail before,
// the greater the limit. So each end of the limit is that of one of these cases, at some phase of the ticks.
func (s *Subject) extreme(c Case, m startMoves, latest bool) ([]Case, error) {
	marks := []mark{landmarks.startTime}
	if c.Instance > 0 { // a relist that finds the exit takes longer, so the next ones are later
		marks = append(marks, landmarks.exitTime)
	}
	corners := []Case{c.corner(latest, m.delays)}
	if d := m.ticks(latest); !m.exits && d.to-d.from < s.ticksRepeat(&c)-1 { // the delays decide between which ticks the start can be
		corners = append(corners, c.corner(!latest, m.delays))
	}
	var cases []Case
	for _, c := range corners {
		lag, err := s.overRelists(c, m.phase(&c), marks, s.lag, tolerance)
		if err != nil {
			return nil, err
		}
		cases = append(cases, lag.end(latest))
	}
	if !m.exits {
		return cases, nil
	}
	cases = append(cases, c.corner(!latest, m.delays).corner(!latest, m.starts))
	for i, c := range cases {
		gap, err := s.overRelists(c, uptimes(&c), []mark{landmarks.exitTime}, s.gap, tolerance)
		if err != nil {
			return nil, err
		}
		c = gap.end(!latest)
		if i < len(corners) { // the relist that finds the exit is another one now
			lag, err := s.overRelists(c, m.phase(&c), []mark{landmarks.startTime}, s.lag, tolerance)
			if err != nil {
				return nil, err
			}
			c = lag.end(latest)
		}
		if latest {
			exit := leads(0, time.Millisecond, horizon)
			c = c.in(exit, max(exit.get(&c)-aside, exit.from))
		}
		cases[i] = c
	}
	return cases, nil
}

// aside is how long before its relist an exit is, where it does not matter how long exactly. Just before the relist, the rounding of other
// times could move it to the next one.
const aside = 50 * time.Millisecond

// lag measures the time from the start of the instance until the kubelet stores a status that shows the instance. The probes do not
// count before. The first sync after the start stores it, because a sync waits for a look at the runtime that is newer than the
// last sync (podWorkerLoop in pkg/kubelet/pod_workers.go at v1.37.0).
func (s *Subject) lag(c Case) (sample, error) {
	started := false
	h, err := s.record(&c, s.recorder(trace.PodSync), s.longestRun(), func(r *trace.Record) bool {
		started = started || s.started(c.Instance)(r)
		return started && r.Kind == trace.PodSync
	})
	return s.sinceStart(c, h, err, func(start virtual.Time) time.Duration { return h.outcome().T.Sub(start) })
}

// gap measures the time from the exit of the previous instance until the start of the instance. Probes fail in the meantime, and the
// failures count for the instance.
func (s *Subject) gap(c Case) (sample, error) {
	h, err := s.run(&c, s.started(c.Instance))
	return s.sinceStart(c, h, err, func(start virtual.Time) time.Duration { return start.Sub(h.first(s.exited(c.Instance - 1)).T) })
}

// sinceStart returns the sample of a run with a start of the instance.
func (s *Subject) sinceStart(c Case, h history, err error, read func(start virtual.Time) time.Duration) (sample, error) {
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	if !c.endsBefore(h) {
		return sample{bound: none(c)}, nil
	}
	return sample{bound: at(read(h.first(s.started(c.Instance)).T), c), signature: h.signature()}, nil
}

// overRelists returns the bound of a function over a dimension that moves some landmarks against the relists.
func (s *Subject) overRelists(c Case, d dim, marks []mark, f measure, tolerance time.Duration) (Bound, error) {
	if d.from == d.to {
		one, err := f(c)
		return one.bound, err
	}
	points, err := s.relistCuts(c, d, marks)
	if err != nil {
		return Bound{}, err
	}
	first, err := f(c)
	if err != nil {
		return first.bound, err
	}
	return parts(c, d, points, remember(f), first.bound, tolerance)
}

// relistCuts returns the points of a dimension at which one of some landmarks meets a relist, with those next to them, and the ends. The
// dimension moves the start against the relists.
func (s *Subject) relistCuts(c Case, d dim, marks []mark) ([]time.Duration, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return nil, err
	}
	points := []time.Duration{d.from, d.to}
	for _, m := range marks {
		for _, r := range l.closest(m) {
			x, ok, err := s.meet(c, d, l, m, r)
			if err != nil {
				return nil, err
			}
			if ok {
				points = append(points, max(x-1, d.from), min(x+1, d.to))
			}
		}
	}
	slices.Sort(points)
	return slices.Compact(points), nil
}

// meet returns the point of a dimension at which a landmark meets a relist, or false if there is none. What happens to the pod moves
// the relists too, so meet takes some steps.
func (s *Subject) meet(c Case, d dim, l landmarks, m mark, r relist) (time.Duration, bool, error) {
	x, p := d.get(&c), place{of: m, to: r}
	by := r.at.Sub(m(l))
	for range 4 {
		if x = d.from + modulo(x+by-d.from, c.relistPeriod()); x > d.to {
			return 0, false, nil
		}
		var err error
		if l, err = s.landmarks(c.in(d, x)); err != nil {
			return 0, false, err
		}
		switch by = -p.miss(l); {
		case by == 0:
			return x, true, nil
		case by.Abs() > time.Second:
			return 0, false, nil
		}
	}
	return x, true, nil
}
