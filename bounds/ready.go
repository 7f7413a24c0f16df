package bounds

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// UntilReady returns the time from the moment at which the program of the first instance is up until the status in the API says
// that the container is ready. If atOnce is true, the program is up when the container starts; otherwise it comes up after the
// first run of the probe that waits for it, and before the last one.
func (s *Subject) UntilReady(n Nodes, atOnce bool) (Bound, error) {
	probes := s.waiting()
	if len(probes) == 0 {
		return Bound{}, fmt.Errorf("container %s has no startup and no readiness probe", s.Container)
	}
	s.seen = map[string]landmarks{}
	defer func() { s.seen = nil }()
	c := s.center(n)
	c.question = &asked{probes: probes, expect: s.becomesReady(true), happens: "the container becomes ready", measure: func(s *Subject, c Case) (sample, error) {
		return s.upAt(c, c.Event)
	}}
	f := s.upLater
	if atOnce {
		f = s.upAtOnce
	}
	f = remember(f)
	first, err := f(c)
	if err != nil || first.bound.Least == Never || n.Middle {
		return first.bound, err
	}
	delays := append([]delay{apiGet, apiPatch}, looks...)
	for _, p := range probes {
		delays = append(delays, answerDelay(s.Probe(p)))
	}
	b := first.bound
	for _, latest := range []bool{false, true} {
		c := c.corner(latest, n.dims(delays...))
		if b, err = s.untilReadyAt(c, n.begins(s, &c, latest), n.relisting(s, &c), atOnce, latest, f, b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// waiting returns the probes that decide when the container becomes ready.
func (s *Subject) waiting() []trace.Probe {
	var list []trace.Probe
	for _, p := range []trace.Probe{trace.Startup, trace.Readiness} {
		if s.Probe(p) != nil {
			list = append(list, p)
		}
	}
	return list
}

// untilReadyAt extends a bound by the times until ready of a case with the least or the greatest delays, in which the start has any phase
// against the relists and the ticks of the probes.
func (s *Subject) untilReadyAt(c Case, begins, relists dim, atOnce, latest bool, f measure, b Bound) (Bound, error) {
	c = c.in(begins, begins.from+(begins.to-begins.from)/2)
	ends, b, err := s.readyOverRelists(c, begins, relists, atOnce, latest, f, b)
	if err != nil {
		return b, err
	}
	for _, c := range ends {
		if err := s.atSecond(&c, latest); err != nil {
			return b, err
		}
		over := f
		if atOnce || s.delayed(&c) { // otherwise some moment meets each tick, whatever the phase
			over = func(c Case) (sample, error) { return s.meetingTicks(c, begins, f, atOnce) }
		}
		one, err := over(c)
		if err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// readyOverRelists extends a bound by the times until ready over the phases against the relists, and returns the cases in which a phase
// against the ticks can lead to the least or the greatest time.
func (s *Subject) readyOverRelists(c Case, begins, relists dim, atOnce, latest bool, f measure, b Bound) ([]Case, Bound, error) {
	over := func(f measure, tolerance time.Duration) (Bound, Case, error) {
		own, err := s.overRelists(c, relists, []mark{landmarks.startTime}, f, tolerance)
		end := own.end(latest)
		end.Event, end.Rules = 0, nil
		return own, end, err
	}
	if s.Probe(trace.Startup) == nil {
		own, end, err := over(f, timeTolerance)
		return []Case{end}, b.Or(own), err
	}
	// A startup probe runs at its ticks only. So the phase against the relists that is the best for a phase against the ticks need not be the
	// best for others.
	if !atOnce { // the phase of the relists against the ticks matters, not that against the start
		relists = uptimes(&c)
		own, end, err := over(s.upAfterOneFailure, timeTolerance)
		return []Case{end}, b.Or(own), err
	}
	_, lag, err := over(s.lag, timeTolerance)
	if err != nil {
		return nil, b, err
	}
	begins.to = min(begins.to, begins.from+s.period(trace.Startup))
	own, end, err := over(func(c Case) (sample, error) {
		return s.meetingTicks(c, begins, func(c Case) (sample, error) { return s.upAt(c, 0) }, false)
	}, 5*timeTolerance)
	return []Case{lag, end}, b.Or(own), err
}

// meetingTicks returns the bound of a function over the cases in which what moves with the start meets a tick of a probe. If split is
// true, it also searches between these cases.
func (s *Subject) meetingTicks(c Case, begins dim, f measure, split bool) (sample, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return sample{}, err
	}
	d := begins.aligned(c.Uptime)
	if s.delayed(&c) {
		d = d.onSecond()
	}
	all, err := f(c)
	if split && err == nil {
		b, err := parts(c, d, d.around(s.meetings(c, l, d)), f, all.bound, timeTolerance)
		return sample{bound: b}, err
	}
	for _, x := range d.around(s.meetings(c, l, d)) {
		if err != nil {
			return all, err
		}
		var one sample
		one, err = f(c.in(d, x))
		all.bound = all.bound.Or(one.bound)
	}
	return sample{bound: all.bound}, err
}

// upAtOnce measures the time until ready of a program that is up when its container starts, if the wall clock has any phase. Before the
// end of initialDelaySeconds, which counts from a whole second, no probe runs. So the time jumps where this end meets a tick.
func (s *Subject) upAtOnce(c Case) (sample, error) {
	one, err := s.upAt(c, 0)
	if err != nil || one.bound.Least == Never || !s.delayed(&c) {
		return one, err
	}
	walls, err := s.wallsOfDelays(c)
	if err != nil {
		return one, err
	}
	for _, wall := range walls {
		c.Wall = wall
		next, err := s.upAt(c, 0)
		if err != nil {
			return one, err
		}
		one.bound = one.bound.Or(next.bound)
		one.signature = one.signature*31 ^ next.signature
	}
	return one, nil
}

// wallsOfDelays returns the phases of the wall clock in which the start of a healthy container, or the end of an initialDelaySeconds, is
// next to a whole second or to a tick.
func (s *Subject) wallsOfDelays(c Case) ([]time.Duration, error) {
	c.Rules = nil
	var start virtual.Time
	ticks := map[trace.Probe][]virtual.Time{}
	longest := s.initialDelays()
	_, err := s.record(&c, &trace.Recorder{Internal: true}, healthyWithin, func(r *trace.Record) bool {
		if s.started(0)(r) {
			start = r.T
		}
		if r.Container == s.Container && (r.Kind == trace.ProbeExecuted || r.Kind == trace.ProbeSkipped) {
			ticks[r.Probe] = append(ticks[r.Probe], request(r))
		}
		return start > 0 && r.T > start.Add(longest)
	})
	if err != nil {
		return nil, err
	}
	begins := modulo(c.Wall-c.wall(start), time.Second) // the start is at a whole second
	list := []time.Duration{begins, modulo(begins-1, time.Second)}
	for _, p := range s.deciding(&c) {
		delay := time.Duration(s.Probe(p).InitialDelaySeconds) * time.Second
		for _, t := range ticks[p] {
			if early := start.Add(delay).Sub(t); delay > 0 && early > 0 && early < time.Second {
				list = append(list, modulo(begins+early, time.Second), modulo(begins+early-1, time.Second))
			}
		}
	}
	return list, nil
}

// upAt measures the time until ready of a program that comes up at a virtual time, or when the container starts.
func (s *Subject) upAt(c Case, t time.Duration) (sample, error) {
	c.Event, c.Rules = t, nil
	if t > 0 {
		c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, For: t, Misfortune: Refuse}}
	}
	h, err := s.record(&c, &trace.Recorder{}, t+healthyWithin, s.ready)
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	up := max(virtual.At(t), h.first(s.started(0)).T)
	return sample{bound: at(h.outcome().T.Sub(up), c), outcome: h.outcome().T.Offset(), signature: h.signature(trace.Startup, trace.Readiness)}, nil
}

// upLater measures the time until ready over all times at which the program comes up, over some periods of the probe that
// decides first.
func (s *Subject) upLater(c Case) (sample, error) {
	moments, err := s.requestsWhileDown(c, s.deciding(&c)[0])
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return s.upAt(c, 0)
	}
	return overAll(moments, c, func(c Case) (sample, error) { return s.upAt(c, c.Event) })
}

// upAfterOneFailure is upLater for a program that comes up between the first two runs of the probe, or at the only one.
func (s *Subject) upAfterOneFailure(c Case) (sample, error) {
	moments, err := s.requestsWhileDown(c, s.deciding(&c)[0])
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return s.upAt(c, 0)
	}
	return between(moments[0][:min(2, len(moments[0]))], c, func(c Case) (sample, error) { return s.upAt(c, c.Event) })
}

// requestsWhileDown returns the times at which a probe of a container that is not up runs, before the container is stopped and
// at most until some periods after the initialDelaySeconds of all probes: the first ones, and those around the end of each
// initialDelaySeconds. The ones between are alike.
func (s *Subject) requestsWhileDown(c Case, p trace.Probe) ([][]time.Duration, error) {
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	var times []time.Duration
	ends := []virtual.Time{0}
	period := time.Duration(max(s.Probe(p).PeriodSeconds, s.Probe(p).TimeoutSeconds)) * time.Second
	last := virtual.Time(math.MaxInt64)
	_, err := s.record(&c, &trace.Recorder{}, healthyWithin, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == p {
			times = append(times, request(r).Offset())
		}
		if s.started(0)(r) {
			last = r.T.Add(s.initialDelays() + 3*period)
			for _, p := range s.deciding(&c) {
				if delay := s.Probe(p).InitialDelaySeconds; delay > 0 {
					ends = append(ends, r.T.Add(time.Duration(delay)*time.Second))
				}
			}
		}
		return r.T >= last || s.stopped(0)(r)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	slices.Sort(ends)
	var lists [][]time.Duration
	next := 0
	for _, end := range ends {
		i, _ := slices.BinarySearch(times, end.Offset())
		from, to := max(i-1, next), min(i+5, len(times))
		if to-from < 2 {
			continue
		}
		lists, next = append(lists, times[from:to]), to-1
	}
	if len(lists) == 0 && len(times) > 0 {
		lists = [][]time.Duration{times}
	}
	return lists, nil
}

// overAll returns the bound of a function of the time of an event over several lists of requests.
func overAll(lists [][]time.Duration, c Case, f measure) (sample, error) {
	all, err := between(lists[0], c, f)
	for _, list := range lists[1:] {
		if err != nil || all.bound.Least == Never {
			return all, err
		}
		var more sample
		more, err = between(list, c, f)
		all.bound = all.bound.Or(more.bound)
	}
	return all, err
}

// initialDelays is the longest initialDelaySeconds of a probe.
func (s *Subject) initialDelays() time.Duration {
	var longest int32
	for _, p := range probeTypes {
		if probe := s.Probe(p); probe != nil {
			longest = max(longest, probe.InitialDelaySeconds)
		}
	}
	return time.Duration(longest) * time.Second
}

// between returns the bound of a function of the time of an event that follows the first of some requests, until the last of them.
// What an event changes begins with the next request. So from just after one request up to the next, the value falls by a nanosecond
// for each nanosecond that the event is later.
func between(requests []time.Duration, c Case, f measure) (sample, error) {
	if len(requests) == 0 {
		return sample{bound: at(Never, c)}, nil
	}
	c.Event = requests[0]
	first, err := f(c)
	if err != nil || first.bound.Least == Never {
		return first, err
	}
	all := first.bound
	var sum, width float64
	for i, end := range requests[1:] {
		c.Event = end
		last, err := f(c)
		if err != nil || last.bound.Least == Never {
			return last, err
		}
		all = all.Or(last.bound)
		length := end - requests[i]
		if length == 0 {
			continue
		}
		begin := last.bound.AtLeast.clone()
		begin.shift(1 - length)
		all = all.Or(at(last.bound.Least+length-1, begin))
		sum += float64(length) * (float64(last.bound.Least) + float64(length)/2)
		width += float64(length)
	}
	if width > 0 {
		all.Mean = time.Duration(sum / width)
	}
	return sample{bound: all}, nil
}
