package bounds

import (
	"errors"
	"fmt"
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
	decides := trace.Startup
	if s.Probe(decides) == nil {
		decides = trace.Readiness
	}
	if s.Probe(decides) == nil {
		return Bound{}, fmt.Errorf("container %s has no startup and no readiness probe", s.Container)
	}
	c := s.center(n)
	c.question = &asked{expect: s.becomesReady(true), happens: "the container becomes ready", measure: func(c Case) (sample, error) {
		return s.upAt(c, c.Event)
	}}
	delays := []delay{apiGet, apiPatch, answerDelay(s.Probe(decides))}
	if p := s.Probe(trace.Readiness); p != nil && decides != trace.Readiness {
		delays = append(delays, answerDelay(p))
	}
	// The start and the relists move the ticks of the readiness probe against those of the startup probe.
	shortest, longest := s.periods()
	begin := n.total(longest, shortest/4, append([]delay{runPodSandbox}, s.starts()...)...)
	dims := append([]dim{begin.aligned(c.Uptime), begin, uptimes(&c)}, n.dims(delays...)...)
	return extremes(c, n.only(dims), func(c Case) (sample, error) {
		if atOnce {
			return s.upAtOnce(c)
		}
		return s.upLater(c, decides)
	})
}

// upAtOnce measures the time until ready of a program that is up when its container starts, if the wall clock has any phase. Before the
// end of initialDelaySeconds, which counts from a whole second, no probe runs.
func (s *Subject) upAtOnce(c Case) (sample, error) {
	one, err := s.upAt(c, 0)
	if err != nil || one.bound.Least == Never || s.initialDelays() == 0 {
		return one, err
	}
	start := virtual.At(one.outcome - one.bound.Least)
	for _, by := range []time.Duration{0, 1} {
		c.Wall = modulo(c.Wall-c.wall(start)-by, time.Second)
		next, err := s.upAt(c, 0)
		if err != nil {
			return one, err
		}
		one.bound = one.bound.Or(next.bound)
		one.signature = one.signature*31 ^ next.signature
	}
	return one, nil
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
// decides.
func (s *Subject) upLater(c Case, decides trace.Probe) (sample, error) {
	moments, err := s.requestsWhileDown(c, decides)
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return s.upAt(c, 0)
	}
	return between(moments, c, func(c Case) (sample, error) { return s.upAt(c, c.Event) })
}

// requestsWhileDown returns the times at which a probe of a container that is not up runs, before the container is stopped and
// at most until some periods after initialDelaySeconds of all probes.
func (s *Subject) requestsWhileDown(c Case, decides trace.Probe) ([]time.Duration, error) {
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	var times []time.Duration
	delays := s.initialDelays()
	var passed virtual.Time
	span := 3 * time.Duration(max(s.Probe(decides).PeriodSeconds, s.Probe(decides).TimeoutSeconds)) * time.Second
	enough := false
	_, err := s.record(&c, &trace.Recorder{}, healthyWithin, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == decides {
			times = append(times, request(r).Offset())
			enough = request(r) >= passed.Add(span)
		}
		if s.started(0)(r) {
			passed = r.T.Add(delays)
		}
		return enough || s.stopped(0)(r)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	return times, nil
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
