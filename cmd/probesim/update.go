package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/refresh"
	"probesim.dev/scenarios"
)

// checkUpdate rejects flags that change the runs of the files, whose results an update writes, or
// that hide the changes.
func (o *runOptions) checkUpdate(paths []string) error {
	o.output = cmp.Or(o.output, "lines")
	switch {
	case o.Seeds != nil || o.Until > 0 || o.Versions != nil:
		return usage("--update cannot be combined with --seed, --until or --kubernetes: files record the results of " +
			"their own runs")
	case o.keepGoing:
		return usage("--update cannot be combined with --keep-going: it updates all files or none")
	case o.output != "lines" && o.output != "timeline":
		return usage("--update requires -o lines or -o timeline, not %s", o.output)
	case slices.Contains(paths, "-"):
		return usage("--update cannot write to stdin: specify files")
	}
	return nil
}

// updateFiles runs the jobs and writes the observations into their files: into all files, or into
// none if there is an error.
func updateFiles(cmd *cobra.Command, jobs []*runner.Job, o runOptions) error {
	seen, err := runner.Observe(cmd.Context(), jobs, o.pool(), cmd.ErrOrStderr())
	switch {
	case err != nil:
		return broken(err)
	case len(seen.Order) == 0:
		return errors.New("nothing was updated: there is no observed expectation; mark expectations to update with " +
			"observed: true\nSee 'probesim explain spec.expect.observed'")
	}
	return writeObserved(cmd, seen)
}

// writeObserved writes the observations into their files, all or none, and prints the diffs.
func writeObserved(cmd *cobra.Command, all *runner.Observations) error {
	var names []string
	byFile := map[string][]expect.Observation{}
	for _, at := range all.Order {
		if byFile[at.File] == nil {
			names = append(names, at.File)
		}
		byFile[at.File] = append(byFile[at.File], all.Agreed(at))
	}
	changed, diffs := 0, ""
	var writes []*files.Replacement
	var wrong []error
	for _, name := range names {
		old, err := scenarios.ReadFile(name)
		if err != nil {
			wrong = append(wrong, unreadable(name, err))
			continue
		}
		r, err := refresh.File(name, old, byFile[name])
		if err != nil {
			wrong = append(wrong, err)
		} else if r.Changed > 0 {
			changed += r.Changed
			diffs += r.Diff
			writes = append(writes, &files.Replacement{Path: name, Old: old, New: r.Text})
		}
	}
	if wrong != nil {
		return nothing("updated", errors.Join(wrong...))
	}
	switch err := files.Replace(cmd.Context(), writes...); {
	case errors.Is(err, files.ErrInterrupted):
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was updated")}
	case err != nil:
		return &exitError{exitBroken, fmt.Errorf("nothing was updated\n%w", err)}
	}
	_, err := fmt.Fprintf(terminal.Safe(cmd.OutOrStdout()), "%sUpdated %d of %d observed expectations.\n\n", diffs,
		changed, len(all.Order))
	return err
}
