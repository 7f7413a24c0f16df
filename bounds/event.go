package bounds

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Misfortune is what happens to a healthy program.
type Misfortune string

const (
	// Hang is a program that does not answer. Requests that arrive in the meantime get no answer at all.
	Hang Misfortune = "hang"
	// Stall is a program that stands still, as in a garbage collection, and answers the requests that have arrived in the
	// meantime when it goes on.
	Stall Misfortune = "stall"
	// Refuse is a program that refuses connections, or whose commands fail.
	Refuse Misfortune = "down"
)

// meets returns a rule with the answers of the container's probes during the misfortune.
func (s *Subject) meets(m Misfortune) fakeruntime.Rule {
	answer := func(p trace.Probe) *fakeruntime.Series {
		probe := s.probe(p)
		if probe == nil {
			return nil
		}
		a := fakeruntime.Answer{Word: fakeruntime.Word(m)}
		if m == Refuse && probe.Exec != nil {
			a = fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1}
		}
		return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: a, Count: 1}}}
	}
	return fakeruntime.Rule{Liveness: answer(trace.Liveness), Readiness: answer(trace.Readiness), Startup: answer(trace.Startup)}
}

// question is a question about a misfortune that begins at some time t0 in a healthy container.
type question struct {
	misfortune Misfortune
	probe      trace.Probe                                             // the probe that decides
	over       func(*trace.Record) bool                                // reports the outcome
	measure    func(h history, t0 virtual.Time) (time.Duration, error) // reads the answer from the run
}

// Survives returns how long a healthy container may have the misfortune without a liveness probe that stops it, whatever the
// phase of the misfortune against the probe.
func (s *Subject) Survives(nodes Nodes, m Misfortune) (Bound, error) {
	return s.ask(nodes, question{m, trace.Liveness, s.stopped, s.lasting(m)})
}

// StaysReady returns how long a healthy container may have the misfortune without a readiness probe that takes its readiness
// away.
func (s *Subject) StaysReady(nodes Nodes, m Misfortune) (Bound, error) {
	return s.ask(nodes, question{m, trace.Readiness, s.unready, s.lasting(m)})
}

// UntilStopped returns the time from the misfortune until the container gets the stop signal.
func (s *Subject) UntilStopped(nodes Nodes, m Misfortune) (Bound, error) {
	return s.ask(nodes, question{m, trace.Liveness, s.stopped, untilOutcome})
}

// UntilUnready returns the time from the misfortune until the status in the API says that the container is not ready.
func (s *Subject) UntilUnready(nodes Nodes, m Misfortune) (Bound, error) {
	return s.ask(nodes, question{m, trace.Readiness, s.unready, untilOutcome})
}

func untilOutcome(h history, t0 virtual.Time) (time.Duration, error) {
	return h.outcome().T.Sub(t0), nil
}

// lasting reads how long the misfortune may last. The request that reached the threshold decides: it is still good if the
// misfortune has ended when it arrives; or, after a stall, if its answer comes before its timeout.
func (s *Subject) lasting(m Misfortune) func(history, virtual.Time) (time.Duration, error) {
	return func(h history, t0 virtual.Time) (time.Duration, error) {
		verdict, err := h.verdict()
		switch {
		case err != nil:
			return 0, err
		case m != Stall:
			return request(verdict).Sub(t0), nil
		}
		return verdict.T.Sub(t0) - h.latency(verdict), nil
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

// ask answers a question over all phases of the misfortune. Between two requests, the answer falls by a nanosecond for each
// nanosecond that the misfortune begins later. So the extremes are at a request, and just after one.
func (s *Subject) ask(nodes Nodes, q question) (Bound, error) {
	return search(nodes.Start.Min, nodes.Start.Max, nodes.Start.Max-nodes.Start.Min+1, func(x time.Duration) (sample, error) {
		e := nodes.environment(x)
		moments, healthy, err := s.requests(e, q.probe)
		if err != nil {
			return sample{}, err
		}
		var bound Bound
		for i, t := range moments {
			for _, event := range []time.Duration{t, t + 1} {
				value, err := s.answer(e, event, q)
				if err != nil {
					return sample{}, err
				}
				one := at(value, Case{e, event})
				if i == 0 && event == t {
					bound = one
				}
				bound = bound.or(one)
			}
		}
		return sample{bound: bound, signature: healthy}, nil
	})
}

// answer answers a question for a misfortune that begins at t and lasts for ever.
func (s *Subject) answer(e Environment, t time.Duration, q question) (time.Duration, error) {
	t0 := virtual.At(t)
	rule := s.meets(q.misfortune)
	rule.Clock, rule.From = fakeruntime.AtScenario, fakeruntime.Exactly(t)
	h, err := s.run(e, []fakeruntime.Rule{rule}, func(r *trace.Record) bool { return r.T >= t0 && q.over(r) })
	if err != nil {
		return 0, err
	}
	return q.measure(h, t0)
}

// cycles is the number of periods of the deciding probe in which a misfortune begins.
const cycles = 2

// requests returns the times at which a probe of the healthy container runs, over some cycles after the container has become
// ready, and the signature of the healthy run.
func (s *Subject) requests(e Environment, p trace.Probe) ([]time.Duration, uint64, error) {
	if s.probe(p) == nil {
		return nil, 0, fmt.Errorf("container %s has no %s probe", s.Container, p)
	}
	ready := false
	var times []time.Duration
	h, err := s.run(e, nil, func(r *trace.Record) bool {
		ready = ready || s.ready(r)
		if ready && r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == p {
			times = append(times, request(r).Offset())
		}
		return len(times) == cycles+1
	})
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(times)
	return times[1:], h.signature(), nil
}
