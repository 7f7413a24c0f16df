package bounds

import (
	"errors"
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

var (
	gridStep = flag.Duration("grid", 20*time.Millisecond, "the distance of the points that the tests of a grid try")
	anyNodes = flag.Bool("any-nodes", false, "move the delays of drawn nodes, for which the search can miss an end by some milliseconds")
)

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

// From the typical nodes that show the ends of a bound, one delay, the phase of the relists or the second of the wall clock moves over a grid. No point
// passes the bound. The test logs for how many ends and dimensions a point comes within a step and a millisecond of the end.
func TestGridOfEachDimension(t *testing.T) {
	list := provable()
	ends, reached, points := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		th := rapid.SampledFrom(list).Draw(r, "theorem")
		s, n := drawSubject(r, th.needs...), drawNodes(r)
		if !*anyNodes {
			n.Delays, _ = fakeruntime.DelaySet("typical")
		}
		b, err := th.bound(s, n)
		if err != nil || b.Least == Never {
			r.Skip("there is no bound")
		}
		for _, end := range []struct {
			c     Case
			value time.Duration
		}{{b.AtLeast, b.LeastShown()}, {b.AtGreatest, b.GreatestShown()}} {
			if end.value == Never || end.c.Instance > 0 || end.c.question.startsUp() && end.c.Event > 0 {
				continue // what leads to the event depends on the dimensions
			}
			for _, d := range gridDims(n, &end.c) {
				closest := time.Duration(Never)
				for x := d.from; ; x = min(x+*gridStep, d.to) {
					one, err := s.onGrid(end.c, d, x)
					if err != nil && !errors.Is(err, errSkip) {
						r.Fatal(err)
					}
					if err == nil {
						points++
						v := one.bound.Least
						if over := max(b.Least-v, v-b.Greatest); v != Never && over > th.tolerance {
							r.Errorf("%s: %v passes the bound of %v to %v by %v\n%s %s\n%s", th.name, v, b.Least, b.Greatest, over, s.Profile.Version, showSubject(s), showCase(one.bound.AtLeast))
						}
						closest = min(closest, (v - end.value).Abs())
					}
					if x == d.to {
						break
					}
				}
				if ends++; closest <= *gridStep+time.Millisecond {
					reached++
				}
			}
		}
	})
	t.Logf("%d points; %d of %d ends and dimensions are reached within %v", points, reached, ends, *gridStep+time.Millisecond)
}

// gridDims returns the dimensions of the delays that nodes have as ranges, of the relists and of the wall clock, for a case.
func gridDims(n Nodes, c *Case) []dim {
	var delays []delay
	for _, span := range spans {
		delays = append(delays, span.of)
	}
	return append(n.dims(delays...), uptimes(c), walls)
}

// onGrid measures a case at a point of a dimension. An event of a healthy container moves by whole repetitions of its probes until each of them
// has succeeded.
func (s *Subject) onGrid(c Case, d dim, x time.Duration) (sample, error) {
	c = c.in(d, x)
	if c.Event > 0 {
		healthy := c
		healthy.Rules = nil
		h, err := s.record(&healthy, &trace.Recorder{}, s.healthyWithin(), func(r *trace.Record) bool { return s.ready(r) })
		if err != nil {
			return sample{}, errSkip
		}
		_, longest := s.periods()
		from, repeat := h.outcome().T.Offset()+s.initialDelays()+2*longest, s.repetition()
		if late := from - c.Event; late > 0 {
			c.shift((late + repeat - 1) / repeat * repeat)
		}
	}
	return c.question.measure(s, c)
}

// startsUp reports whether the question is about a program that comes up, whose event is that moment.
func (a *asked) startsUp() bool { return len(a.probes) > 0 }

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
	repeat := s.repetition()
	if err != nil || repeat > 20*time.Second {
		return 0, 0, false
	}
	_, longest := s.periods()
	from = h.outcome().T.Offset() + longest
	return from, from + s.initialDelays() + longest + repeat, true
}

// repetition is the time after which the ticks of the probes of a healthy container are in the same phase again.
func (s *Subject) repetition() time.Duration {
	repeat := time.Second
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness} {
		if s.Probe(p) != nil {
			repeat *= s.period(p) / divisor(repeat, s.period(p))
		}
	}
	return repeat
}
