package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/refresh"
)

// checkUpdate rejects flags that change the runs of the files, whose results an update writes, or that hide the changes.
func (o *runOptions) checkUpdate() error {
	switch {
	case !o.update:
		return nil
	case o.seed != "" || o.until != "" || len(o.kubernetes) > 0:
		return errors.New("--update cannot be combined with --seed, --until or --kubernetes: files record the results of their own runs")
	case o.keepGoing:
		return errors.New("--update cannot be combined with --keep-going: it updates all files or none")
	case o.output == "":
		o.output = "lines"
	case o.output != "lines" && o.output != "timeline":
		return fmt.Errorf("--update requires -o lines or -o timeline, not %s", o.output)
	}
	return nil
}

// updateFiles runs the jobs and writes the observations into their files: into all files, or into none if there is an
// error.
func updateFiles(cmd *cobra.Command, jobs []*job, o runOptions) error {
	seen := &observations{of: map[strict.Pos][]runsObservation{}}
	progress := newProgress(cmd.ErrOrStderr(), jobs)
	go progress.loop()
	defer progress.stop()
	ctx := cmd.Context()
	err := inOrder(ctx, len(jobs), pool{parallel: o.parallel, ahead: 4 * o.parallel, memory: o.memory}, func(a *account) observed {
		return jobs[a.number].observe(a, progress)
	}, func(i int, o observed) error {
		progress.done(i + 1)
		return seen.add(jobs[i], o)
	})
	progress.stop()
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was updated")}
	case err != nil:
		return &exitError{exitBroken, fmt.Errorf("nothing was updated\n%w", err)}
	case len(seen.order) == 0:
		return &exitError{exitUsage, errors.New("nothing was updated: there is no observed expectation; mark expectations to update with observed: true\n" +
			"See 'probesim explain spec.expect.observed'")}
	}
	return seen.write(cmd)
}

// observed holds the observations of one run.
type observed struct {
	list []expect.Observation
	err  error
}

func (j *job) observe(a *account, progress *progress) observed {
	s := j.simulate(a, false, nil, progress.virtual())
	if s.err != nil {
		return observed{err: fmt.Errorf("%s: %s %s: %w", j.plan.Scenario.Pos, j.plan.Scenario.Metadata.Name, j.plan.Version, s.err)}
	}
	list, err := expect.Observe(j.plan, expect.Run{Records: s.records, End: s.end, Internal: s.internal})
	a.shrink(0)
	return observed{list, err}
}

// observations are the observations of all runs, by the position of the expectation: variants of a scenario share expectations.
type observations struct {
	order []strict.Pos // by first observation
	of    map[strict.Pos][]runsObservation
}

// runsObservation merges the observations of one scenario and version.
type runsObservation struct {
	scenario, version string
	expect.Observation
}

// add adds the observations of the next run. Runs of one scenario and version follow each other.
func (all *observations) add(j *job, run observed) error {
	if run.err != nil {
		return run.err
	}
	for _, o := range run.list {
		list := all.of[o.Expect.Pos]
		if list == nil {
			all.order = append(all.order, o.Expect.Pos)
		}
		name, version := j.plan.Scenario.Metadata.Name, j.plan.Version
		if last := len(list) - 1; last >= 0 && list[last].scenario == name && list[last].version == version {
			list[last].Observation = expect.Merge(list[last].Observation, o)
			continue
		}
		all.of[o.Expect.Pos] = append(list, runsObservation{name, version, o})
	}
	return nil
}

// agreed returns the observation that all variants and versions agree on, or an observation with an error that says how they differ.
func (all *observations) agreed(at strict.Pos) expect.Observation {
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
			first.Err = fmt.Errorf("it is %s in %s and %s in %s: write one expectation for each version, with kubernetesVersions",
				first, list[0].version, other.Observation, other.version)
		}
	}
	return first
}

// write updates the files.
func (all *observations) write(cmd *cobra.Command) error {
	var files []string
	byFile := map[string][]expect.Observation{}
	for _, at := range all.order {
		if byFile[at.File] == nil {
			files = append(files, at.File)
		}
		byFile[at.File] = append(byFile[at.File], all.agreed(at))
	}
	results, old := make([]refresh.Result, len(files)), make([][]byte, len(files))
	var wrong []string
	for i, name := range files {
		data, err := scenarios.ReadFile(name)
		if err != nil {
			err = fmt.Errorf("%s: cannot be read: %w", printable.Text(name), err)
		} else {
			old[i] = data
			results[i], err = refresh.File(name, data, byFile[name])
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if wrong != nil {
		return &exitError{exitUsage, errors.New("nothing was updated\n" + strings.Join(wrong, "\n"))}
	}
	return writeUpdates(cmd, files, old, results, len(all.order))
}

// writeUpdates writes the changed files, all or none, and prints the diffs.
func writeUpdates(cmd *cobra.Command, files []string, old [][]byte, results []refresh.Result, observed int) error {
	changed, diffs := 0, ""
	var writes []*replacement
	for i, r := range results {
		if r.Changed > 0 {
			changed += r.Changed
			diffs += r.Diff
			writes = append(writes, &replacement{path: files[i], old: old[i], new: r.Text})
		}
	}
	switch err := replaceFiles(cmd.Context(), writes...); {
	case errors.Is(err, errInterrupted):
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was updated")}
	case err != nil:
		return &exitError{exitBroken, fmt.Errorf("nothing was updated\n%w", err)}
	}
	out := safeText(cmd.OutOrStdout())
	_, err := fmt.Fprintf(out, "%sUpdated %d of %d observed expectations.\n\n", diffs, changed, observed)
	if err != nil {
		return writeError(err)
	}
	return nil
}
