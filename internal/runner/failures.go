package runner

import (
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios/format"
)

// failures are those that are kept until the end of the command.
type failures struct {
	described map[*format.Expect]bool // expectations of the last case whose failures in a run are kept
	// expectations and steps of the last case whose first failure is kept for its summary
	explained map[position]bool
}

// position identifies an expectation or step of a scenario.
type position struct{ line, column int }

// keepFailures drops the failures of a run from memory unless a report at the end shows them.
func (out *output) keepFailures(run *report.Run) {
	if out.format.failures {
		return
	}
	for i := range run.Expectations {
		e := &run.Expectations[i]
		if at := (position{e.Line, e.Column}); len(e.Failures) > 0 && out.format.summarize > 0 &&
			!out.kept.explained[at] {
			out.kept.explained[at] = true
			for j := range e.Failures {
				e.Failures[j].Around = []report.Line{}
			}
			continue
		}
		e.More, e.Failures = e.More+len(e.Failures), nil
	}
}

// some drops the failures that endCase does not need: those of expectations that must hold in each
// run, and those of all but one run.
func (f *failures) some(results []expect.Result) []expect.Result {
	for i := range results {
		r := &results[i]
		if r.Expect.Runs != format.SomeRun || f.described[r.Expect] {
			r.Failures = nil
		} else if len(r.Failures) > 0 {
			f.described[r.Expect] = true
		}
	}
	return results
}
