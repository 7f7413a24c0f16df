package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
)

// maxOnPage is the number of outcomes of a scenario that a page shows, unless --all is set: those
// that fail come first.
const maxOnPage = 20

// writePage writes a page with the first run of each outcome.
func (o *exploreOptions) writePage(cmd *cobra.Command, list []exploration, results []*explore.Result) error {
	var jobs []*runner.Job
	for i, r := range results {
		more, err := o.pageJobs(cmd, &list[i], r)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	if len(jobs) == 0 {
		return nil
	}
	run := o.runOptions
	run.output, run.allRuns = "html", true
	outcome, err := runner.Write(cmd.Context(), jobs, run.options(cmd))
	if outcome == report.Failed {
		outcome = report.OK // explore returns the exit code itself
	}
	return ended(outcome, err)
}

// pageJobs returns the runs of the outcomes of a scenario, each with notes about its outcome.
func (o *exploreOptions) pageJobs(cmd *cobra.Command, e *exploration, r *explore.Result) ([]*runner.Job, error) {
	shown := r.Outcomes
	if len(shown) > maxOnPage && !o.all {
		shown = nil
		for _, bad := range []bool{true, false} {
			for i, outcome := range r.Outcomes {
				first := i == 0 // the run as written
				if len(shown) < maxOnPage && (outcome.History.Bad() || first) == bad {
					shown = append(shown, outcome)
				}
			}
		}
	}
	var jobs []*runner.Job
	written := e.subject.Run(explore.Change{}, false)
	for _, outcome := range shown {
		plan, chooser, err := e.subject.Replay(outcome.Change)
		if err != nil {
			return nil, err
		}
		replay, err := o.writeWitness(cmd, e, outcome)
		if err != nil {
			return nil, fmt.Errorf("--witness: %w", err)
		}
		j := &runner.Job{Plan: plan, Until: virtual.At(plan.Duration), Group: len(jobs), Runs: 1, Replay: replay,
			Chooser: chooser}
		j.Title = r.Scenario + " " + outcome.ID
		j.Notes = append(j.Notes, fmt.Sprintf("outcome %s: %d of %d runs; the first: %s", outcome.ID, outcome.Count,
			r.Runs, strings.Join(outcome.Change.Lines(), ", ")))
		if parts := e.subject.Run(outcome.Change, false).PartsFrom(written); parts != "" {
			j.Notes = append(j.Notes, parts)
		}
		j.Notes = append(j.Notes, outcome.History.Findings()...)
		jobs = append(jobs, j)
	}
	return jobs, nil
}
