package runner

import (
	"context"
	"errors"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// finish writes reports over all runs, and returns the worst outcome.
func (out *output) finish(ctx context.Context) (report.Outcome, error) {
	out.progress.Stop()
	ended := ctx.Err() != nil && out.completed() < len(out.jobs)
	if ended && out.format.all {
		out.addSkipped()
	}
	worst := report.Worst(out.cases)
	if worst == report.Broken && out.onlyInvalid() {
		worst = report.Invalid
	}
	err := out.summarizeRest()
	out.cases = append(out.cases, invalidCases(out.invalid)...)
	if err == nil && out.format.finish != nil {
		err = out.format.finish(out)
	}
	if err != nil {
		return worst, err
	}
	out.noteSize()
	if ended {
		return worst, out.interruption(ctx)
	}
	return worst, nil
}

// onlyInvalid reports whether all runs that ended early did so because of what their files say.
func (out *output) onlyInvalid() bool {
	for i := range out.cases {
		for _, r := range out.cases[i].Runs {
			if r.Err != nil && !isInvalid(r.Err) {
				return false
			}
		}
	}
	return true
}

// isInvalid reports whether an error is about a place in a file.
func isInvalid(err error) bool { return errors.As(err, new(strict.Error)) }

// summarizeRest writes the summary of a case that was interrupted. It is about the completed runs.
func (out *output) summarizeRest() error {
	n := len(out.cases)
	if out.emitted == 0 || out.emitted == len(out.jobs) || out.format.name == "github" {
		return nil
	}
	j, c := out.jobs[out.emitted-1], &out.cases[n-1]
	if !out.summarizes(j) || len(c.Runs) == j.Runs {
		return nil
	}
	return report.CaseSummary(out.stdout, c, out.pad, out.text)
}

// interruption says how many runs completed.
func (out *output) interruption(ctx context.Context) error {
	if j := out.jobs[0]; len(out.jobs) == 1 && out.emitted == 1 {
		return interrupted(ctx, " at %s of %s", value.Format(out.cases[0].Runs[0].Until.Offset()),
			value.Format(j.Until.Offset()))
	}
	return interrupted(ctx, ": %d of %d runs completed", out.completed(), len(out.jobs))
}

func (out *output) completed() int {
	n := 0
	for i := range out.cases {
		for _, r := range out.cases[i].Runs {
			if r.Err != simulate.ErrInterrupted {
				n++
			}
		}
	}
	return n
}

func invalidCases(invalid scenarios.Errors) []report.Case {
	var cases []report.Case
	for i := 0; i < len(invalid); {
		end := i + 1
		for end < len(invalid) && invalid[end].File == invalid[i].File {
			end++
		}
		cases = append(cases, report.Case{File: invalid[i].File, Err: invalid[i:end]})
		i = end
	}
	return cases
}
