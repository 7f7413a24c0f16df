package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// Range is a range of a latency.
type Range struct{ Min, Max time.Duration }

// Nodes are the environments over which a bound is taken.
type Nodes struct {
	Environment
	// Start is the time that the node needs to create the sandbox of the pod. It moves the start of the container against the
	// ticks of its probes.
	Start Range
}

// environment returns an environment of the nodes.
func (n Nodes) environment(start time.Duration) Environment {
	e := n.Environment
	e.Delays.RunPodSandbox = &fakeruntime.Draw{Min: start, Max: start}
	return e
}

// Start returns how long the first instance of the container may take to start: how long it may refuse all probes, counted from
// its start, without a probe that stops it.
func (s *Subject) Start(nodes Nodes) (Bound, error) {
	down := []fakeruntime.Rule{s.meets(Refuse)}
	return search(nodes.Start.Min, nodes.Start.Max, s.grid(), func(x time.Duration) (sample, error) {
		e := nodes.environment(x)
		h, err := s.run(e, down, s.stopped)
		if err != nil {
			return sample{}, err
		}
		verdict, err := h.verdict()
		if err != nil {
			return sample{}, err
		}
		limit := request(verdict).Sub(h.first(s.started).T)
		return sample{bound: at(limit, Case{Environment: e}), signature: h.signature()}, nil
	})
}

// grid returns a quarter of the shortest period of the container's probes.
func (s *Subject) grid() time.Duration {
	shortest := time.Minute
	for _, p := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
		if probe := s.probe(p); probe != nil {
			shortest = min(shortest, time.Duration(probe.PeriodSeconds)*time.Second)
		}
	}
	return shortest / 4
}
