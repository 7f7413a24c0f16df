package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var replayOutputs = []string{"timeline", "jsonl", "json", "markdown", "html", "svg", "perfetto"}

func newReplay() *cobra.Command {
	var o runOptions
	cmd := newCommand("replay WITNESS [WITNESS]", "Repeat the run of a witness of explore", replayHelp, replayExamples,
		paths(1, 2, "replay requires a witness, or two to compare: files that 'probesim explore' wrote"),
		o.replay)
	cmd.ValidArgsFunction = completeJSON
	addOutput(cmd, &o.output, "timeline", replayOutputs)
	o.add(cmd, "file", "verbose")
	return cmd
}

const replayHelp = `Repeat the run of a witness that explore wrote, byte for byte. WITNESS is the
file. replay first checks that the trace has the hash of the witness, and the
outcome and the findings that it says.

The witness names the scenario file by its path from the directory in which you
ran explore. Run replay there, or name another copy of the file with --file.

With two witnesses, replay prints the two runs side by side from the point where
they part.

Output formats of one witness: as for run; the default is timeline.

Exit codes:
  0    the run was repeated
  1    the trace differs from that of the witness
  2    invalid usage, or an invalid witness or scenario file` + usualExits

const replayExamples = `  # Draw the timeline of a witness
  probesim replay witnesses/web-5d194352082d.json

  # Compare two outcomes
  probesim replay web-5d194352082d.json web-a06d459d67c1.json

  # Print the trace, with internal records
  probesim replay witnesses/web-5d194352082d.json -o jsonl --verbose`

func (o *runOptions) replay(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 2:
		if err := ignored(cmd, "with two witnesses", "output", "verbose"); err != nil {
			return err
		}
		return compareWitnesses(cmd, args, *o)
	case o.output != "jsonl":
		if err := ignored(cmd, "without -o jsonl", "verbose"); err != nil {
			return err
		}
	}
	w, err := loadWitness(cmd, args[0], *o)
	if err != nil {
		return err
	}
	if _, err := w.repeat(); err != nil {
		return err
	}
	plan, chooser, err := w.subject.Replay(w.Change)
	if err != nil {
		return err
	}
	for _, line := range w.Change.Lines() {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %s\n", line)
	}
	for _, f := range w.Findings {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %s\n", f)
	}
	j := &runner.Job{Plan: plan, Until: virtual.At(plan.Duration), Runs: 1, Replay: "probesim replay " +
		simulate.Quote(filepath.ToSlash(args[0])), Chooser: chooser}
	outcome, err := runner.Write(cmd.Context(), []*runner.Job{j}, o.options(cmd))
	if outcome == report.Failed {
		outcome = report.OK // the witness may show that an expectation fails
	}
	return ended(outcome, err)
}

// repeat repeats the run of a witness, and returns an error if the trace is another one.
func (w *witness) repeat() (*explore.Run, error) {
	run := w.subject.Run(w.Change, false)
	hash := trace.Hash(run.Records)
	failed := func(path, format string, args ...any) (*explore.Run, error) {
		return nil, &exitError{exitFailed, fmt.Errorf("%w%s", w.Errorf(path, format, args...), w.changed)}
	}
	if hash != w.TraceHash && run.Err != nil {
		return failed("change", "the run ends with an error: %v", run.Err)
	}
	if hash != w.TraceHash {
		return failed("traceHash", "the trace has the hash %s, and that of the witness is %s", short(hash),
			short(w.TraceHash))
	}
	if id := run.History.ID(); id != w.Outcome {
		return failed("outcome", "the trace has the outcome %s, and the witness says %s", id, printable.Text(w.Outcome))
	}
	if findings := run.History.Findings(); !slices.Equal(findings, w.Findings) {
		return failed("findings", "the findings of the run are %q, and the witness says %q", findings, w.Findings)
	}
	return run, nil
}

// compareWitnesses prints two runs side by side from the point where they part.
func compareWitnesses(cmd *cobra.Command, paths []string, o runOptions) error {
	d := &report.Diff{}
	var runs []diff.Run
	for _, path := range paths {
		w, err := loadWitness(cmd, path, o)
		if err != nil {
			return err
		}
		s := w.subject
		run, err := w.repeat()
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			d.Scenario, d.File, d.Line = w.Scenario, s.Plan.Scenario.File, s.Plan.Scenario.Line
		}
		if w.Scenario != d.Scenario {
			return fmt.Errorf("%s is about scenario %s, and %s about %s: two witnesses must be about the same one",
				printable.Text(paths[0]), printable.Text(d.Scenario), printable.Text(path), printable.Text(w.Scenario))
		}
		d.Names = append(d.Names, w.Outcome)
		runs = append(runs, diff.Run{Name: w.Outcome, Records: run.Records, End: virtual.At(s.Plan.Duration)})
	}
	d.Pairs, d.Changed = []*diff.Difference{diff.Compare(runs[0], runs[1])}, diff.Changed(runs...)
	d.Replay = "probesim replay " + simulate.Quote(filepath.ToSlash(paths[0])) + " " +
		simulate.Quote(filepath.ToSlash(paths[1]))
	w := cmd.OutOrStdout()
	return d.Text(terminal.Safe(w), terminal.Options(w))
}

// short returns the first digits of a hash.
func short(hash string) string { return printable.Text(hash[:min(len(hash), 12)]) }

// witness is a witness with the scenario that it is about.
type witness struct {
	*explore.Witness
	subject *explore.Subject
	text    []byte // of the scenario file
	changed string // what may be the reason if the trace is another one
}

// loadWitness loads a witness and the scenario that it is about.
func loadWitness(cmd *cobra.Command, path string, o runOptions) (*witness, error) {
	f, err := readManifest(cmd, path)
	if err != nil {
		return nil, err
	}
	w, err := explore.ReadWitness(path, f.Data)
	if err != nil {
		return nil, err
	}
	file := cmp.Or(o.file, w.File)
	text, err := readManifest(cmd, file)
	if err != nil {
		if o.file == "" && !exists(file) {
			err = w.Errorf("file", "%v: name the scenario file of the witness with --file", err)
		}
		return nil, err
	}
	all, _, err := o.load(cmd, file)
	if err != nil {
		return nil, err
	}
	s, err := w.Subject(all)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.Replay(w.Change); err != nil {
		return nil, w.Errorf("change", "%v", err)
	}
	changed := ""
	switch {
	case !w.Matches(text.Data):
		changed = ": " + printable.Text(file) + " has changed since"
	case w.Engine != version():
		changed = ": the witness is of probesim " + printable.Text(w.Engine) + ", and this is " + version()
	}
	return &witness{w, s, text.Data, changed}, nil
}
