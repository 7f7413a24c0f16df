package runner

import (
	"context"
	"fmt"
	"io"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/strict"
)

// Observe simulates jobs, and returns what their observed expectations see. The error is an
// Interrupted if the context is done before all runs are complete, and otherwise about the first
// run that did not complete.
func Observe(ctx context.Context, jobs []*Job, o pool.Options, stderr io.Writer) (*Observations, error) {
	seen := &Observations{of: map[strict.Pos][]runsObservation{}}
	progress := NewProgress(stderr, jobs)
	defer progress.Stop()
	err := pool.InOrder(ctx, len(jobs), o, func(ctx context.Context, i int) observed {
		return jobs[i].observe(ctx, progress)
	}, func(i int, o observed) error {
		progress.Done(i + 1)
		return seen.add(jobs[i], o)
	})
	switch {
	case ctx.Err() != nil:
		err = interrupted(ctx, ": nothing was updated")
	case err != nil:
		err = fmt.Errorf("nothing was updated\n%w", err)
	}
	return seen, err
}

// observed holds the observations of one run.
type observed struct {
	list []expect.Observation
	err  error
}

func (j *Job) observe(ctx context.Context, progress *Progress) observed {
	s := j.Simulate(ctx, false, nil, progress.Virtual())
	if s.Err != nil {
		return observed{err: j.failed(s.Err)}
	}
	list, err := expect.Observe(j.Plan, expect.Run{Records: s.Records, End: s.End, Internal: s.Internal})
	return observed{list, err}
}

// Observations are the observations of all runs, by the position of the expectation: variants of a
// scenario share expectations.
type Observations struct {
	Order []strict.Pos // by first observation
	of    map[strict.Pos][]runsObservation
}

// runsObservation merges the observations of one scenario and version.
type runsObservation struct {
	scenario, version string
	expect.Observation
}

// add adds the observations of the next run. Runs of one scenario and version follow each other.
func (all *Observations) add(j *Job, run observed) error {
	if run.err != nil {
		return run.err
	}
	for _, o := range run.list {
		list := all.of[o.Expect.Pos]
		if list == nil {
			all.Order = append(all.Order, o.Expect.Pos)
		}
		name, version := j.Plan.Scenario.Metadata.Name, j.Plan.Version
		if last := len(list) - 1; last >= 0 && list[last].scenario == name && list[last].version == version {
			list[last].Observation = expect.Merge(list[last].Observation, o)
			continue
		}
		all.of[o.Expect.Pos] = append(list, runsObservation{name, version, o})
	}
	return nil
}

// Agreed returns the observation that all variants and versions agree on, or an observation with an
// error that says how they differ.
func (all *Observations) Agreed(at strict.Pos) expect.Observation {
	list := all.of[at]
	first := list[0].Observation
	for _, other := range list[1:] {
		switch {
		case first.Err != nil:
		case other.Err != nil:
			first.Err = other.Err
		case !first.Equal(other.Observation) && other.scenario != list[0].scenario:
			first.Err = fmt.Errorf("it is %s in %s and %s in %s: write one expectation in each variant",
				first, list[0].scenario, other.Observation, other.scenario)
		case !first.Equal(other.Observation):
			first.Err = fmt.Errorf("it is %s in %s and %s in %s: write one expectation for each version, with "+
				"kubernetesVersions",
				first, list[0].version, other.Observation, other.version)
		}
	}
	return first
}
