package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/explore/coverage"
	"probesim.dev/explore/outcomes"
	"probesim.dev/report"
)

var coverageOutputs = []string{"text", "json"}

func newCoverage() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "coverage PATH...",
		Short: "Show what scenarios exercise, and what they never do",
		Long: `Show which facts of the kubelet the scenarios in files and directories exercise,
and which they never do: reasons of stops, results of probes, events, kinds of
syncs, steps; and the points at which the kubelet leaves a choice open, such as
the order of goroutines. Each scenario runs once with each of its versions.

Exit codes:
  0    the coverage was printed
  2    invalid usage or an invalid file
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`,
		Example: `  # What do our scenarios miss?
  probesim coverage scenarios/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return errors.New("coverage requires a scenario file or directory")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
		PreRunE:           rejectEmptyFlags,
		RunE:              func(cmd *cobra.Command, args []string) error { return coverFiles(cmd, args, o) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "Output `format`: "+strings.Join(coverageOutputs, ", ")+".")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(coverageOutputs, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func coverFiles(cmd *cobra.Command, paths []string, o runOptions) error {
	if !slices.Contains(coverageOutputs, o.output) {
		return fmt.Errorf("--output must be one of %s, not %q", strings.Join(coverageOutputs, ", "), o.output)
	}
	all, _, err := o.load(cmd.InOrStdin(), paths...)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("nothing was run\n%w", err)}
	}
	var subjects []outcomes.Subject
	for _, s := range all {
		for _, v := range planned(s) {
			subjects = append(subjects, outcomes.Subject{Plan: s.Plan(v, nil)})
		}
	}
	c := coverage.New()
	progress := newCounter(cmd.ErrOrStderr(), len(subjects), "scenarios")
	defer progress.stop()
	for _, s := range subjects {
		if cmd.Context().Err() != nil {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted: %s run", progress)}
		}
		r, choices := s.Choices(outcomes.Change{})
		if r.Err != nil {
			return &exitError{exitBroken, fmt.Errorf("%s: %w", s.Plan.Scenario.Metadata.Name, r.Err)}
		}
		c.Add(s.Plan.Scenario.Metadata.Name, r.Records, choices)
		progress.step()
	}
	progress.stop()
	w := cmd.OutOrStdout()
	if o.output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(c)
	}
	text := textOptions(w)
	table := &report.Table{Left: 1}
	table.Head("", "exercised", "of")
	for _, g := range c.Groups {
		table.Row(report.Cell{Text: g.Name}, report.Cell{Text: fmt.Sprint(len(g.Items) - len(g.Never()))}, report.Cell{Text: fmt.Sprint(len(g.Items))})
	}
	out := safeText(w)
	if err := table.Write(out, text); err != nil {
		return err
	}
	for _, g := range c.Groups {
		if never := g.Never(); len(never) > 0 {
			fmt.Fprintln(out)
			report.WriteLine(out, 0, g.Name+", never:", report.Bold, text)
			report.WriteLine(out, 2, strings.Join(never, "; "), report.Plain, text)
		}
	}
	_, err = fmt.Fprintf(out, "\n%d runs\n", c.Runs)
	return err
}
