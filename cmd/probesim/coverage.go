package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/answers/coverage"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/terminal"
)

func newCoverage() *cobra.Command {
	var o runOptions
	cmd := newCommand("coverage PATH...", "Show what scenarios exercise, and what they never do", coverageHelp,
		coverageExamples, someFiles("coverage requires a scenario file or directory"),
		o.cover)
	addOutput(cmd, &o.output, "text", []string{"text", "json", "markdown", "html"})
	return cmd
}

const coverageHelp = `Show which facts of the kubelet the scenarios in files and directories exercise,
and which they never do: reasons of stops, results of probes, events, kinds of
syncs, steps; and the points at which the kubelet leaves a choice open, such as
the order of goroutines. Each scenario runs once with each of its versions.

Exit codes:
  0    the coverage was printed
  2    invalid usage or an invalid file` + usualExits

const coverageExamples = `  # What do our scenarios miss?
  probesim coverage scenarios/`

func (o *runOptions) cover(cmd *cobra.Command, paths []string) error {
	all, _, err := o.load(cmd, paths...)
	if err != nil {
		return nothing("run", err)
	}
	var subjects []explore.Subject
	for _, s := range all {
		for _, v := range runner.Planned(s) {
			subjects = append(subjects, explore.Subject{Plan: s.Plan(v, nil)})
		}
	}
	c := coverage.New()
	if err := doTasks(cmd.Context(), cmd, len(subjects), "scenarios run", 1, func(_ context.Context, i int) error {
		name := subjects[i].Plan.Scenario.Metadata.Name
		r, choices := subjects[i].Choices(explore.Change{})
		if r.Err != nil {
			return fmt.Errorf("%s: %w", name, r.Err)
		}
		c.Add(name, r.Records, choices)
		return nil
	}); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if o.output == "json" {
		return printable.WriteJSON(w, c)
	}
	return c.Document().Write(w, o.output, terminal.Options(w))
}
