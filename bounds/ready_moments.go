package bounds

import (
	"errors"
	"math"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// settled is the time after a start in which one sync of the pod leads to the next.
const settled = 7 * time.Second

// requestsWhileDown returns the times at which a probe of a container that is not up runs, before the container is stopped and
// at most until some periods after the initialDelaySeconds of all probes and the first run: the first ones, and those around the end of each
// initialDelaySeconds. The ones between are alike. The first run can come long after the start, if a hook or another container keeps the kubelet from
// showing the start.
func (s *Subject) requestsWhileDown(c Case, p trace.Probe) ([][]time.Duration, error) {
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	var times []time.Duration
	ends := []virtual.Time{0}
	period := time.Duration(max(s.Probe(p).PeriodSeconds, s.Probe(p).TimeoutSeconds)) * time.Second
	last := virtual.Time(math.MaxInt64)
	var stop int64
	requests := trace.ProbeExecuted
	if s.reconnects(p) {
		requests = trace.Behavior
	}
	h, err := s.record(&c, s.recorder(s.showsConnections()), s.healthyWithin(), func(r *trace.Record) bool {
		if r.Kind == requests && r.Container == s.Container && r.Probe == p {
			if len(times) == 0 && stop == 0 {
				last = max(last, request(r).Add(max(3*period, settled)))
			}
			times = append(times, request(r).Offset())
		}
		if stop == 0 && s.stopped(0)(r) { // a run that has begun before can still be going on
			stop, last = r.Step, min(last, r.T.Add(s.timeout(p)))
		}
		if s.started(0)(r) {
			last = r.T.Add(s.initialDelays() + max(3*period, settled))
			for _, p := range s.deciding(&c) {
				if delay := s.Probe(p).InitialDelaySeconds; delay > 0 {
					ends = append(ends, r.T.Add(time.Duration(delay)*time.Second))
				}
			}
		}
		return r.T >= last && (len(times) > 0 || stop > 0)
	})
	if err != nil && !errors.Is(err, errNothing) { // errNothing: the probe never runs, or the container never runs again
		return nil, err
	}
	slices.Sort(times)
	if stop > 0 { // a program that comes up before the run that stops it is not stopped
		if v, err := h.verdictOf(&h[stop-1]); err == nil {
			times = until(times, s.lastChance(h, v, &c).Offset())
		}
	}
	slices.Sort(ends)
	var lists [][]time.Duration
	next := 0
	for _, end := range ends {
		i, _ := slices.BinarySearch(times, end.Offset())
		from, to := max(i-1, next), min(i+max(5, int(settled/period)), len(times))
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

// until returns the sorted times up to an end, and the end. If there are none, it returns none.
func until(times []time.Duration, end time.Duration) []time.Duration {
	i, found := slices.BinarySearch(times, end)
	if times = times[:i]; i > 0 || found {
		times = append(times, end)
	}
	return times
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
