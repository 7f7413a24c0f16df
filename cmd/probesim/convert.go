package main

import (
	"slices"

	"probesim.dev/report"
	"probesim.dev/scenarios/simulate"
)

// report converts a run for package report.
func (s *simulation) report() *report.Run {
	r := simulate.Result{
		Plan: s.job.plan, Records: s.records, Internal: s.internal, End: s.end, Unreached: s.unreached, Results: s.results, Err: s.err,
	}
	run := r.Report(s.job.replay)
	if s.job.title != "" {
		run.Scenario = s.job.title
	}
	run.Notes = append(slices.Clip(run.Notes), s.job.notes...)
	return run
}
