package bounds

import (
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

var gridStep = flag.Duration("grid", 20*time.Millisecond, "the distance of the times that TestGrid tries")

// On one node, misfortunes that begin at all points of a grid do not pass the limit, and reach both of its ends within a step, or the
// closest values that the search found to ends that are derived.
func TestGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom([]Misfortune{Hang, Stall, Refuse}).Draw(t, "misfortune")
		ready := rapid.Bool().Draw(t, "stays ready")
		needs := trace.Liveness
		if ready {
			needs = trace.Readiness
		}
		s, n := drawSubject(t, needs), oneNode(drawNodes(t), drawDice(t))
		q, ask := s.survives(m), s.Survives
		if ready {
			q, ask = s.staysReady(m), s.StaysReady
		}
		b, err := ask(n, m)
		if err != nil {
			t.Skip(err)
		}
		c := s.center(n)
		from, to, ok := s.gridOf(c, needs)
		if !ok {
			t.Skip("the probes come in all their phases only after a long time")
		}
		grid := none(c)
		for c.Event = from; c.Event < to; c.Event += *gridStep {
			one, err := s.answer(c, q)
			if err != nil {
				t.Fatal(err)
			}
			grid = grid.Or(one.bound)
		}
		if grid.Least < b.Least || grid.Greatest > b.Greatest {
			t.Errorf("%v to %v passes the limit of %v to %v\n%s\n%s", grid.Least, grid.Greatest, b.Least, b.Greatest, showSubject(s), showCase(grid.AtGreatest))
		}
		if b.Least != Never && (grid.Least-b.LeastShown() > *gridStep || b.GreatestShown()-grid.Greatest > *gridStep) {
			t.Errorf("%v to %v does not reach the limit of %v to %v\n%s", grid.Least, grid.Greatest, b.Least, b.Greatest, showSubject(s))
		}
	})
}

// oneNode returns nodes that are all alike.
func oneNode(n Nodes, d *dice) Nodes {
	for _, span := range spans {
		if r := *span.of(&n.Delays); r != nil {
			x := fakeruntime.Exactly(d.duration(r.Min, r.Max))
			*span.of(&n.Delays) = &x
		}
	}
	return n
}

// gridOf returns the times at which misfortunes begin: from when the container is ready and a probe has run, until its probes have come in all
// their phases.
func (s *Subject) gridOf(c Case, p trace.Probe) (from, to time.Duration, ok bool) {
	ready, has := false, false
	h, err := s.run(&c, func(r *trace.Record) bool {
		ready = ready || s.ready(r)
		has = has || r.Kind == trace.ProbeExecuted && r.Probe == p
		return ready && has
	})
	repeat := time.Second
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness} {
		if s.Probe(p) != nil {
			repeat *= s.period(p) / divisor(repeat, s.period(p))
		}
	}
	if err != nil || repeat > 20*time.Second {
		return 0, 0, false
	}
	_, longest := s.periods()
	from = h.outcome().T.Offset() + longest
	return from, from + s.initialDelays() + longest + repeat, true
}
