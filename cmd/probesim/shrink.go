package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/explore/outcomes"
	"probesim.dev/internal/printable"
	"probesim.dev/scenarios"
)

// shrinkOptions are the flags of shrink.
type shrinkOptions struct {
	runOptions
	out     string
	finding string
	trials  int
}

func newShrink() *cobra.Command {
	var o shrinkOptions
	cmd := &cobra.Command{
		Use:   "shrink WITNESS",
		Short: "Find the smallest scenario that fails as a witness does",
		Long: `Find the smallest scenario file that fails as the run of a witness does. WITNESS
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
  130  interrupted`,
		Example: `  # Write the smallest scenario to a file
  probesim shrink witnesses/web-5d194352082d.json --out small.yaml

  # Keep one of several findings
  probesim shrink witnesses/web-5d194352082d.json --finding ready-needs-started`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("shrink requires one witness, a file that 'probesim explore' wrote")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error { return shrinkWitness(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "Write the scenario to this `file` instead of stdout.")
	flags.StringVar(&o.file, "file", "", "The scenario `file`, instead of the path in the witness.")
	flags.StringVar(&o.finding, "finding", "", "The `beginning` of the finding to keep, if there are several.")
	flags.IntVar(&o.trials, "trials", 2000, "Maximum `number` of smaller files to try")
	return cmd
}

func shrinkWitness(cmd *cobra.Command, witness string, o shrinkOptions) error {
	if o.trials < 1 {
		return errors.New("--trials must be at least 1")
	}
	w, s, changed, err := loadWitness(witness, o.file, o.runOptions)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	file := w.File
	if o.file != "" {
		file = o.file
	}
	data, err := readManifest(file)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if _, err := repeated(witness, w, s, changed); err != nil {
		return &exitError{exitUsage, err}
	}
	readFile := func(name string) ([]byte, error) {
		return scenarios.ReadFile(path.Join(path.Dir(filepath.ToSlash(file)), name))
	}
	lines := strings.Count(string(data), "\n")
	progress := newCounterOf(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d lines", lines) })
	defer progress.stop()
	small, err := s.Shrink(cmd.Context(), w.Change, data, outcomes.ShrinkOptions{Finding: o.finding, Trials: o.trials, ReadFile: readFile, Progress: func(n int) {
		progress.mu.Lock()
		defer progress.mu.Unlock()
		lines = n
	}})
	progress.stop()
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted: nothing was written")}
	case err != nil:
		return &exitError{exitUsage, fmt.Errorf("%s: %w", printable.Text(witness), err)}
	case len(small.Change.Choices) > 0 && o.out == "":
		return &exitError{exitUsage, fmt.Errorf("the scenario needs %d choices that no seed makes: name the file with --out, and the witness will be beside it", len(small.Change.Choices))}
	case o.out == "":
		_, err := cmd.OutOrStdout().Write(small.File)
		return err
	}
	if err := writeFile(cmd.Context(), o.out, small.File, true); err != nil {
		return &exitError{exitUsage, err}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %s\n", small.Finding)
	next := "probesim run " + quote(filepath.ToSlash(o.out))
	if len(small.Change.Choices) > 0 {
		beside := strings.TrimSuffix(o.out, filepath.Ext(o.out)) + ".json"
		if err := writeShrunkWitness(cmd, o.out, beside, small, w); err != nil {
			return &exitError{exitUsage, err}
		}
		next = "probesim replay " + quote(filepath.ToSlash(beside))
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "probesim: wrote %d lines. Next: %s\n", strings.Count(string(small.File), "\n"), next)
	return err
}

// writeShrunkWitness writes a witness with the choices that a scenario file needs.
func writeShrunkWitness(cmd *cobra.Command, file, name string, small *outcomes.Shrunk, from *outcomes.Witness) error {
	all, err := scenarios.Load(filepath.ToSlash(file))
	if err != nil {
		return err
	}
	s := outcomes.Subject{Plan: all[0].Plan(from.Kubernetes, nil), Off: from.Off, JudgeAll: true}
	w, err := s.Witness(small.Change, small.File)
	if err != nil {
		return err
	}
	w.Engine = version()
	return writeFile(cmd.Context(), name, w.JSON(), true)
}
