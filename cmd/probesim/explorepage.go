package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/explore/outcomes"
	"probesim.dev/report/diff"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxOnPage is the number of outcomes of a scenario that a page shows, unless --all is set: those that fail come first.
const maxOnPage = 20

// writePage writes a page with the first run of each outcome.
func (o *exploreOptions) writePage(cmd *cobra.Command, list []exploration, results []*outcomes.Result) error {
	var jobs []*job
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
	run.output, run.allRuns, run.memory = "html", true, defaultMemory
	err := runJobs(cmd, jobs, nil, run)
	if code, ok := err.(*exitError); ok && code.code == exitFailed {
		return nil // explore returns the exit code itself
	}
	return err
}

// pageJobs returns the runs of the outcomes of a scenario, each with notes about its outcome.
func (o *exploreOptions) pageJobs(cmd *cobra.Command, e *exploration, r *outcomes.Result) ([]*job, error) {
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
	var jobs []*job
	written := e.subject.Run(outcomes.Change{}, false)
	for _, outcome := range shown {
		plan, chooser, err := e.subject.Replay(outcome.Change)
		if err != nil {
			return nil, err
		}
		replay, err := o.writeWitness(cmd, e, outcome)
		if err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("--witness: %w", err)}
		}
		j := &job{plan: plan, until: virtual.At(plan.Duration), group: len(jobs), runs: 1, replay: replay, chooser: chooser}
		j.title = r.Scenario + " " + outcome.ID
		j.notes = append(j.notes, fmt.Sprintf("outcome %s: %d of %d runs; the first: %s", outcome.ID, outcome.Count, r.Runs, strings.Join(outcome.Change.Lines(), ", ")))
		if parts := partsFrom(written, e.subject.Run(outcome.Change, false)); parts != "" {
			j.notes = append(j.notes, parts)
		}
		j.notes = append(j.notes, outcome.History.Findings()...)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// partsFrom says where a run first differs from the run as written.
func partsFrom(written, run *outcomes.Run) string {
	end := virtual.At(0)
	if n := len(written.Records); n > 0 {
		end = written.Records[n-1].T
	}
	d := diff.Compare(diff.Run{Records: written.Records, End: end}, diff.Run{Records: run.Records, End: end})
	if d.Same() {
		return ""
	}
	text := "parts from the run as written at " + trace.FormatTime(d.First)
	for _, side := range []struct {
		of   diff.Side
		word string
	}{{diff.A, ", which has "}, {diff.B, "; this run has "}} {
		for _, line := range d.Around {
			if line.Side == side.of {
				text += side.word + describeRecord(line.Record)
				break
			}
		}
	}
	return text
}

// describeRecord describes a record in a few words.
func describeRecord(r *trace.Record) string {
	words := []string{string(r.Kind), r.Pod, r.Container, string(r.Probe), string(r.Result), r.Reason}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ") + " at " + trace.FormatTime(r.T)
}
