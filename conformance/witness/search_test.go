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
)

// Witness is the closest run that was found to an end of a row.
type Witness struct {
	Value time.Duration // what the run shows
	Files []File        // scenarios that show it; each has been run
}

// Target is a case of a row of a container, or the case that decides.
type Target struct {
	Name string // of the scenario
	Row  check.RowID
	Case string // empty: the one that decides
	*Subject
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
func Find(ctx context.Context, t *Target) (*Witness, error) {
	values := slices.DeleteFunc(check.Values(t.Bounds, t.Row, 0),
		func(v check.Value) bool { return t.Case != "" && v.Case != t.Case })
	if len(values) == 0 {
		return nil, errors.New("the container does not have the row")
	}
	v := t.Row.Worst(values)
	f, end := figureOf(t.Row, v.Case), t.Row.End(v.Range)
	if f.Most = end; end == bounds.Never {
		return nil, errors.New("nothing limits the row")
	}
	candidates, err := f.search(ctx, t.Subject, end)
	if err != nil {
		return nil, err
	}
	err = errNothing
	for i := range candidates {
		c := &candidates[i]
		w := &Witness{c.m.Value, f.files(t.Subject, t.Name, &c.c, c.m)}
		if err = t.verify(ctx, c.c.Seed, w.Files); err == nil {
			return w, nil
		}
	}
	return nil, fmt.Errorf("no run was found: %w", err)
}

// figureOf returns the figure of a case of a row.
func figureOf(row check.RowID, which string) Figure {
	switch row {
	case check.Stall:
		return Figure{Misfortune: bounds.Stall, Outcome: Stopped, Limit: true}
	case check.Silence:
		return Figure{Misfortune: silence(which), Outcome: Stopped, Limit: true}
	case check.ServingSilence:
		return Figure{Misfortune: silence(which), Outcome: Unready, Limit: true}
	case check.HungUnready:
		return Figure{Misfortune: bounds.Hang, Outcome: Unready}
	case check.Serving:
		return Figure{Misfortune: bounds.Stall, Outcome: Unready, Limit: true}
	case check.Unready:
		return Figure{Misfortune: bounds.Refuse, Outcome: Unready}
	case check.Detect:
		return Figure{Misfortune: bounds.Hang, Outcome: Stopped}
	case check.Ready:
		return Figure{AtOnce: which == check.UpAtOnce, Outcome: Ready}
	}
	return Figure{Start: bounds.StartCase(which), Outcome: Stopped, Limit: true}
}

// silence returns the misfortune of a case of a program that does not answer in time.
func silence(which string) bounds.Misfortune {
	if which == check.LateAnswers {
		return bounds.Slow
	}
	return bounds.Hang
}

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
