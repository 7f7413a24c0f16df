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

// question is a question about a misfortune that begins at some time in a healthy container.
type question struct {
	misfortune Misfortune
	probe      trace.Probe                            // the probe that decides
	over       func(*trace.Record) bool               // reports the outcome
	read       func(h history, c *Case) time.Duration // reads the answer from the run
	delays     []delay                                // that change the answer
}

// Survives returns how long a healthy container may have the misfortune without a liveness probe that stops it, whatever the
// phase of the misfortune against the probe.
func (s *Subject) Survives(n Nodes, m Misfortune) (Bound, error) {
	return s.ask(n, question{m, trace.Liveness, s.stopped(0), s.lasting(m), nil})
}

// StaysReady returns how long a healthy container may have the misfortune without a readiness probe that takes its readiness
// away.
func (s *Subject) StaysReady(n Nodes, m Misfortune) (Bound, error) {
	return s.ask(n, question{m, trace.Readiness, s.unready, s.lasting(m), nil})
}

// UntilStopped returns the time from the misfortune until the container gets the stop signal.
func (s *Subject) UntilStopped(n Nodes, m Misfortune) (Bound, error) {
	b, err := s.ask(n, question{m, trace.Liveness, s.stopped(0), untilOutcome, []delay{stopContainer}})
	if err != nil || b.Least == Never {
		return b, err
	}
	late, err := s.aim(n, m)
	return b.Or(late), err
}

// UntilUnready returns the time from the misfortune until the status in the API says that the container is not ready.
func (s *Subject) UntilUnready(n Nodes, m Misfortune) (Bound, error) {
	return s.ask(n, question{m, trace.Readiness, s.unready, untilOutcome, []delay{apiGet, apiPatch}})
}

func untilOutcome(h history, c *Case) time.Duration { return h.outcome().T.Sub(virtual.At(c.Event)) }

// lasting reads how long the misfortune may last. The request that reached the threshold decides: it is still good if the
// misfortune has ended when it arrives; or, after a stall, if its answer comes before its timeout.
func (s *Subject) lasting(m Misfortune) func(history, *Case) time.Duration {
	return func(h history, c *Case) time.Duration {
		verdict, err := h.verdict()
		switch {
		case err != nil:
			return 0
		case m != Stall:
			return request(verdict).Sub(virtual.At(c.Event))
		}
		return verdict.T.Sub(virtual.At(c.Event)) - h.latency(verdict)
	}
}

// latency returns how long a healthy answer to the same probe takes.
func (h history) latency(verdict *trace.Record) time.Duration {
	healthy := h.first(func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Container == verdict.Container && r.Probe == verdict.Probe && r.Result == trace.Success
	})
	if healthy == nil {
		return 0
	}
	return healthy.Took
}

// ask answers a question over all nodes and all phases of the misfortune. The phase of the kubelet's relists has no effect on a
// container that runs.
func (s *Subject) ask(n Nodes, q question) (Bound, error) {
	if s.Probe(q.probe) == nil {
		return Bound{}, fmt.Errorf("container %s has no %s probe", s.Container, q.probe)
	}
	c := s.center(n)
	delays := append([]delay{answerDelay(s.Probe(q.probe))}, q.delays...)
	return extremes([]Case{c}, n.only(n.dims(delays...)), func(c Case) (sample, error) {
		return s.phases(c, q)
	})
}

// phases answers a question over all phases of the misfortune. Between two requests, the answer falls by a nanosecond for each
// nanosecond that the misfortune begins later. So the extremes are at a request, and just after one.
func (s *Subject) phases(c Case, q question) (sample, error) {
	moments, err := s.requests(c, q.probe)
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	var p phaseBound
	for _, t := range moments {
		for _, event := range []time.Duration{t, t + 1} {
			one, err := s.answer(c, event, q)
			if err != nil || one.Least == Never {
				return sample{bound: one}, err
			}
			p.add(event, one)
		}
	}
	return sample{bound: p.bound()}, nil
}

// answer answers a question for a misfortune that begins at a time and lasts for ever.
func (s *Subject) answer(c Case, event time.Duration, q question) (Bound, error) {
	c.Event = event
	c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, From: event, Misfortune: q.misfortune}}
	t0 := virtual.At(event)
	h, err := s.run(&c, func(r *trace.Record) bool { return r.T >= t0 && q.over(r) })
	if errors.Is(err, errNothing) {
		return at(Never, c), nil
	}
	if err != nil {
		return Bound{}, err
	}
	return at(q.read(h, &c), c), nil
}

// cycles is the number of periods of the deciding probe in which a misfortune begins.
const cycles = 1

// requests returns the times at which a probe of the healthy container runs, over some cycles after the container has become
// ready.
func (s *Subject) requests(c Case, p trace.Probe) ([]time.Duration, error) {
	c.Rules = nil // the case can be that of another answer, with its misfortune
	ready := false
	var times []time.Duration
	_, err := s.record(&c, &trace.Recorder{}, healthyWithin, func(r *trace.Record) bool {
		ready = ready || s.ready(r)
		if ready && r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == p {
			times = append(times, request(r).Offset())
		}
		return len(times) == cycles+2
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	return times[1:], nil
}

// healthyWithin is the virtual time within which a healthy container becomes ready, if its probes can succeed.
const healthyWithin = time.Hour
