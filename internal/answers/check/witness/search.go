// Package witness finds runs that come close to the ends of the rows of a check, and writes them as
// scenario files. The ends are computed (package bounds); a run only shows them.
//
// A [Case] is one node and one program on it: the latencies, the phases of the kubelet and of the
// events, and a seed for what the kubelet leaves open. A [Figure] says how to draw cases and what
// to read from their runs. A search draws some hundred cases, and goes on around the closest one.
package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Witness is the closest run that was found to an end of a row.
type Witness struct {
	*check.Target
	Case    string        // such as "after a crash"; empty if the row has only one
	End     time.Duration // the value of the row
	Value   time.Duration // what the run shows
	Happens string        // what happens in it: "the container is stopped"
	Files   []File        // scenarios that show it; each has been run
	// The run, until some seconds after the outcome. A misfortune lasts for ever in it.
	Records        []trace.Record
	Until, Outcome virtual.Time
}

// effort limits a search: the virtual time of its runs, each with some more for its own cost. It
// takes about two seconds.
const (
	effort  = 12 * time.Hour
	ownCost = 2 * time.Minute
	most    = 500 // cases
)

// closeEnough is how close a run is to an end that needs no closer one.
const closeEnough = 10 * time.Millisecond

// Find searches for the run closest to the end of a row that decides: the value of a limit up to
// which all goes well, or the worst value of a time. The error says that the row has no such case,
// that nothing reaches the end, or that no run was found, or it is that of the context.
func Find(ctx context.Context, t *check.Target) (*Witness, error) {
	s := (*Subject)(t)
	values := slices.DeleteFunc(check.Values(s.Bounds, t.Row, 0),
		func(v check.Value) bool { return t.Of != "" && v.Case != t.Of })
	if len(values) == 0 || !t.Row.Shown() {
		return nil, fmt.Errorf("no run shows the row %s", t.Name)
	}
	v := t.Row.Worst(values)
	f := figureOf(t.Row, v.Case)
	w := &Witness{Target: t, Case: v.Case, End: t.Row.End(v.Range), Happens: f.says()}
	if f.Most = w.End; w.End == bounds.Never {
		return nil, fmt.Errorf("nothing limits the row %s", t.Name)
	}
	candidates, err := f.search(ctx, s, w.End)
	if err != nil {
		return nil, err
	}
	err = errNothing
	for i := range candidates {
		c := &candidates[i]
		w.Value, w.Files = c.m.Value, f.files(s, t.File, &c.c, c.m)
		if err = s.verify(ctx, c.c.Seed, w.Files); err == nil {
			w.Outcome, w.Until = virtual.At(c.m.Outcome), virtual.At(c.m.Outcome+afterOutcome)
			w.Records, _ = s.Run(&c.c, w.Until.Offset(), func(*trace.Record) bool { return false })
			return w, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("no run was found that shows the row %s: %w", t.Name, err)
}

// afterOutcome is how long a run that is shown goes on after its outcome.
const afterOutcome = 15 * time.Second

// candidate is a case with its value.
type candidate struct {
	c      Case
	m      Measured
	phases *Phases
	off    time.Duration
}

// kept is the number of closest cases that a search returns. Events at one instant can make the
// scenario file of one differ.
const kept = 5

// search returns the cases that come closest to a value, the closest first.
func (f *Figure) search(ctx context.Context, s *Subject, end time.Duration) ([]candidate, error) {
	var best []candidate
	spent := time.Duration(0)
	for i := int64(0); i < most && spent < effort; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		phases := NewPhases(i)
		if i%4 > 0 && i > most/6 && len(best) > 0 {
			phases = best[0].phases.Near(i)
		}
		c, ok := f.Draw(s, phases)
		if spent += ownCost; !ok {
			continue
		}
		m, err := f.Measure(s, &c)
		if errors.Is(err, errNothing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		spent += m.Outcome
		best = append(best, candidate{c, m, phases, (m.Value - end).Abs()})
		slices.SortStableFunc(best, func(a, b candidate) int { return cmp.Compare(a.off, b.off) })
		if best = best[:min(len(best), kept)]; best[0].off < closeEnough && len(best) == kept {
			break
		}
	}
	return best, nil
}

// verify runs scenario files, and returns an error if an expectation does not hold.
func (s *Subject) verify(ctx context.Context, seed int64, files []File) error {
	for _, w := range files {
		loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.Data, nil)
		if err != nil {
			return fmt.Errorf("bug: the scenario is not valid: %w", err)
		}
		r := simulate.Run(ctx, loaded[0].Plan(s.Profile.Version, &seed), simulate.Options{})
		if r.Err != nil {
			return r.Err
		}
		for i := range r.Results {
			if r.Results[i].Outcome != expect.Held {
				return fmt.Errorf("the scenario %s does not show what it should: %v", w.Name, r.Results[i].Failures)
			}
		}
	}
	return nil
}
