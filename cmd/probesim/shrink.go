package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// shrinkOptions are the flags of shrink.
type shrinkOptions struct {
	runOptions
	out     string
	finding string
	force   bool
	limit   time.Duration
}

func newShrink() *cobra.Command {
	var o shrinkOptions
	cmd := newCommand("shrink WITNESS", "Find the smallest scenario that fails as a witness does", shrinkHelp,
		shrinkExamples, paths(1, 1, "shrink requires one witness, a file that 'probesim explore' wrote"),
		o.shrink)
	cmd.ValidArgsFunction = completeJSON
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "Write the scenario to this `file` instead of stdout.")
	addForce(cmd, &o.force)
	needs(cmd, "out", "force")
	o.add(cmd, "file")
	flags.StringVar(&o.finding, "finding", "", "The `beginning` of the finding to keep, if there are several.")
	addTime(cmd, &o.limit)
	return cmd
}

const shrinkHelp = `Find the smallest scenario file that fails as the run of a witness does. WITNESS
is a file that explore wrote.

Restarts, outages, moved times, the age of the kubelet and a seed become part of
the file. If an invariant does not hold, the file has an expectation that says
so: you can commit the file, and it tells you when the kubelet changes. An
expectation that fails does not change: it also fails in the new file.

If the failure needs choices that no seed up to 300 makes, shrink also writes a
witness with the fewest choices: it needs --out.

Exit codes:
  0    the file was written
  2    invalid usage, an invalid witness, or a run that does not fail
  3    probesim itself failed
  130  interrupted`

const shrinkExamples = `  # Write the smallest scenario to a file
  probesim shrink witnesses/web-5d194352082d.json --out small.yaml

  # Keep one of several findings
  probesim shrink witnesses/web-5d194352082d.json --finding ready-needs-started`

func (o *shrinkOptions) shrink(cmd *cobra.Command, args []string) error {
	w, err := loadWitness(cmd, args[0], o.runOptions)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := files.Of(cmd.Context()).Check(o.out, o.force); err != nil {
			return err
		}
	}
	if _, err := w.repeat(); err != nil {
		return &exitError{exitUsage, err}
	}
	dir := filepath.Dir(cmp.Or(o.file, w.File))
	readFile := func(name string) ([]byte, error) {
		return loadOptions(cmd).Read(filepath.ToSlash(filepath.Join(dir, name)), false)
	}
	var lines atomic.Int64
	lines.Store(int64(strings.Count(string(w.text), "\n")))
	progress := terminal.NewLine(cmd.ErrOrStderr(), false,
		func() string { return fmt.Sprintf("%d lines", lines.Load()) })
	defer progress.Stop()
	search, stop := context.WithTimeout(cmd.Context(), o.limit)
	defer stop()
	small, err := w.subject.Shrink(cmd.Context(), w.Change, w.text,
		explore.ShrinkOptions{Finding: o.finding, Trials: maxTrials, ReadFile: readFile, Enough: func() bool {
			return search.Err() != nil
		},
			Progress: func(n int) { lines.Store(int64(n)) }})
	progress.Stop()
	if err == nil && !small.Minimal {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: --time %s is over: a smaller file may exist\n", value.Format(o.limit))
	}
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was written")}
	case err != nil:
		return w.Errorf("change", "%v", err)
	case len(small.Change.Choices) > 0 && o.out == "":
		return fmt.Errorf("the scenario needs %d choices that no seed makes: name the file with --out, and the "+
			"witness will be beside it", len(small.Change.Choices))
	case o.out == "":
		_, err := cmd.OutOrStdout().Write(small.File)
		return err
	}
	return o.write(cmd, small, w.Witness)
}

// write writes the smallest scenario, and beside it the witness that it needs.
func (o *shrinkOptions) write(cmd *cobra.Command, small *explore.Shrunk, w *explore.Witness) error {
	if err := writeFile(cmd.Context(), o.out, small.File, o.force); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %s\n", small.Finding)
	next := "probesim run " + simulate.Quote(filepath.ToSlash(o.out))
	if len(small.Change.Choices) > 0 {
		beside := strings.TrimSuffix(o.out, filepath.Ext(o.out)) + ".json"
		if err := writeShrunkWitness(cmd, o, beside, small, w); err != nil {
			return err
		}
		next = "probesim replay " + simulate.Quote(filepath.ToSlash(beside))
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "probesim: wrote %d lines. Next: %s\n",
		strings.Count(string(small.File), "\n"), next)
	return err
}

// maxTrials bounds the smaller files that shrink tries.
const maxTrials = 100_000

// writeShrunkWitness writes a witness with the choices that a scenario file needs.
func writeShrunkWitness(cmd *cobra.Command, o *shrinkOptions, name string, small *explore.Shrunk,
	from *explore.Witness) error {
	all, err := scenarios.Load(filepath.ToSlash(o.out))
	if err != nil {
		return err
	}
	s := explore.Subject{Plan: all[0].Plan(from.Kubernetes, nil), JudgeAll: true}
	w, err := s.Witness(small.Change, small.File)
	if err != nil {
		return err
	}
	w.Engine = version()
	return writeFile(cmd.Context(), name, w.JSON(), o.force)
}
