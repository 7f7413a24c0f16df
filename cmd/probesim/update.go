package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/refresh"
)

// checkUpdate refuses what would have files say what was seen in other runs than their own, or hide what changed.
func (o *runOptions) checkUpdate() error {
	switch {
	case !o.update:
		return nil
	case o.seed != "" || o.until != "" || len(o.kubernetes) > 0:
		return errors.New("--update goes without --seed, --until and --kubernetes: files say what is seen in the runs that they ask for")
	case o.output == "":
		o.output = "lines"
	case o.output != "lines" && o.output != "timeline":
		return fmt.Errorf("--update shows what changes, and goes with -o lines and timeline, not %s", o.output)
	}
	return nil
}

// updateFiles makes the runs and writes what was seen into their files: into all of them, or into none if anything is
// wrong.
func updateFiles(cmd *cobra.Command, jobs []*job, o runOptions) error {
	seen := &sightings{of: map[*scenarios.Expect][]versionSighting{}}
	progress := newProgress(cmd.ErrOrStderr(), jobs)
	go progress.loop()
	defer progress.stop()
	ctx := cmd.Context()
	err := inOrder(ctx, len(jobs), o.parallel, 4*o.parallel, func(i int) sighting {
		return jobs[i].observe(ctx, progress)
	}, func(i int, s sighting) error {
		progress.done(i + 1)
		return seen.add(jobs[i], s)
	})
	progress.stop()
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was updated")}
	case err != nil:
		return &exitError{exitBroken, fmt.Errorf("nothing was updated\n%w", err)}
	case len(seen.order) == 0:
		return &exitError{exitUsage, errors.New("nothing was updated: there is no observed expectation; mark those that say what was seen with observed: true\n" +
			"See 'probesim explain spec.expect.observed'")}
	}
	return seen.write(cmd)
}

// sighting is what was seen in a run.
type sighting struct {
	list []expect.Observation
	err  error
}

func (j *job) observe(ctx context.Context, progress *progress) sighting {
	s := j.simulate(ctx, false, nil, progress.virtual())
	if s.err != nil {
		return sighting{err: fmt.Errorf("%s: %s %s: %w", j.plan.Scenario.Pos, j.plan.Scenario.Metadata.Name, j.plan.Version, s.err)}
	}
	list, err := expect.Observe(j.plan, expect.Run{Records: s.records, End: s.end, Internal: s.internal})
	return sighting{list, err}
}

// sightings are what was seen of expectations, in the order in which they were met.
type sightings struct {
	order []*scenarios.Expect
	of    map[*scenarios.Expect][]versionSighting
}

// versionSighting is what was seen in the runs of one version.
type versionSighting struct {
	version string
	expect.Observation
}

// add takes the next run. Those of one version are together.
func (all *sightings) add(j *job, s sighting) error {
	if s.err != nil {
		return s.err
	}
	for _, o := range s.list {
		list := all.of[o.Expect]
		if list == nil {
			all.order = append(all.order, o.Expect)
		}
		if last := len(list) - 1; last >= 0 && list[last].version == j.plan.Version {
			list[last].Observation = expect.Merge(list[last].Observation, o)
			continue
		}
		all.of[o.Expect] = append(list, versionSighting{j.plan.Version, o})
	}
	return nil
}

// agreed returns what was seen in all versions, or an observation that says how they differ.
func (all *sightings) agreed(e *scenarios.Expect) expect.Observation {
	list := all.of[e]
	first := list[0].Observation
	for _, other := range list[1:] {
		switch {
		case first.Err != nil:
		case other.Err != nil:
			first.Err = other.Err
		case !first.Equal(other.Observation):
			first.Err = fmt.Errorf("it is %s in %s and %s in %s: write an expectation for each, with kubernetesVersions",
				first, list[0].version, other.Observation, other.version)
		}
	}
	return first
}

// write updates the files.
func (all *sightings) write(cmd *cobra.Command) error {
	var files []string
	byFile := map[string][]expect.Observation{}
	for _, e := range all.order {
		if byFile[e.File] == nil {
			files = append(files, e.File)
		}
		byFile[e.File] = append(byFile[e.File], all.agreed(e))
	}
	results := make([]refresh.Result, len(files))
	var wrong []string
	for i, name := range files {
		data, err := scenarios.ReadFile(name)
		if err != nil {
			err = fmt.Errorf("%s: cannot be read: %w", name, err)
		} else {
			results[i], err = refresh.File(name, data, byFile[name])
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if wrong != nil {
		return &exitError{exitUsage, errors.New("nothing was updated\n" + strings.Join(wrong, "\n"))}
	}
	return writeUpdates(cmd, files, results, len(all.order))
}

// writeUpdates shows what changes and writes it.
func writeUpdates(cmd *cobra.Command, files []string, results []refresh.Result, observed int) error {
	changed, out := 0, cmd.OutOrStdout()
	for i, r := range results {
		if r.Changed == 0 {
			continue
		}
		changed += r.Changed
		if err := writeFile(files[i], r.Text, true); err != nil {
			return &exitError{exitBroken, err}
		}
		if _, err := fmt.Fprint(out, r.Diff); err != nil {
			return writeError(err)
		}
	}
	_, err := fmt.Fprintf(out, "Updated %d of %d observed expectations.\n\n", changed, observed)
	if err != nil {
		return writeError(err)
	}
	return nil
}
