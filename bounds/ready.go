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
// that the container is ready. If atOnce is true, the program is up when the container starts; otherwise it comes up at any
// later time at which the kubelet still waits for it.
func (s *Subject) UntilReady(n Nodes, atOnce bool) (Bound, error) {
	decides := trace.Startup
	if s.Probe(decides) == nil {
		decides = trace.Readiness
	}
	if s.Probe(decides) == nil {
		return Bound{}, fmt.Errorf("container %s has no startup and no readiness probe", s.Container)
	}
	c := s.center(n)
	delays := []delay{apiGet, apiPatch, answerDelay(s.Probe(decides))}
	if p := s.Probe(trace.Readiness); p != nil && decides != trace.Readiness {
		delays = append(delays, answerDelay(p))
	}
	dims := n.dims(delays...)
	if atOnce { // the kubelet has to see the start first
		shortest, longest := s.periods()
		dims = append(dims, n.total(longest, shortest/4, runPodSandbox, imagePull, createContainer, startContainer), uptimes(c.Uptime))
	}
	return extremes([]Case{c}, n.only(dims), func(c Case) (sample, error) {
		if atOnce {
			return s.upAt(c, 0)
		}
		return s.upLater(c, decides)
	})
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
	return sample{bound: at(h.outcome().T.Sub(up), c), signature: h.signature(trace.Startup, trace.Readiness)}, nil
}

// upLater measures the time until ready over all times at which the program comes up, over some periods of the probe that
// decides. Between two requests the time falls by a nanosecond for each nanosecond that the program comes up later.
func (s *Subject) upLater(c Case, decides trace.Probe) (sample, error) {
	moments, err := s.requestsWhileDown(c, decides)
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return s.upAt(c, 0)
	}
	var p phaseBound
	for _, t := range moments {
		for _, event := range []time.Duration{t, t + 1} {
			one, err := s.upAt(c, event)
			if err != nil || one.bound.Least == Never {
				return one, err
			}
			p.add(event, one.bound)
		}
	}
	return sample{bound: p.bound()}, nil
}

// requestsWhileDown returns the times at which a probe of a container that is not up runs, before the container is stopped and
// at most for some cycles.
func (s *Subject) requestsWhileDown(c Case, decides trace.Probe) ([]time.Duration, error) {
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	var times []time.Duration
	h, err := s.record(&c, &trace.Recorder{}, healthyWithin, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == decides {
			times = append(times, request(r).Offset())
		}
		return len(times) == cycles+1 || s.stopped(0)(r)
	})
	if err != nil {
		return nil, err
	}
	if s.stopped(0)(h.outcome()) && len(times) > 0 {
		times = times[:len(times)-1] // a program that comes up only now is killed
	}
	slices.Sort(times)
	return times, nil
}

// phaseBound collects values over the phases of an event: at each request, and just after it.
type phaseBound struct {
	all   Bound
	n     int
	last  time.Duration
	sum   float64
	width float64
}

// add adds the value for an event. Events alternate: a request, and the nanosecond after it.
func (p *phaseBound) add(event time.Duration, b Bound) {
	if p.n == 0 {
		p.all = b
	}
	p.all = p.all.Or(b)
	if p.n > 0 && p.n%2 == 0 { // since the nanosecond after the previous request, the value has fallen to that of b
		length := float64(event - p.last)
		p.sum += length * (float64(b.Least) + length/2)
		p.width += length
	}
	p.n, p.last = p.n+1, event
}

func (p *phaseBound) bound() Bound {
	if p.width > 0 {
		p.all.Mean = time.Duration(p.sum / p.width)
	}
	return p.all
}
