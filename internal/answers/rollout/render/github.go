package render

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/show/report"
)

// GitHub writes an annotation of GitHub Actions for each workload that loses requests or does not
// complete, and for each requirement that is not met. The function path converts file names to
// paths relative to the root of the repository.
func GitHub(w io.Writer, r *rollout.Report, path func(string) string) error {
	for i := range r.Workloads {
		of := &r.Workloads[i]
		for _, a := range annotations(r, of) {
			a.File = path(of.File)
			if err := report.Annotate(w, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func annotations(r *rollout.Report, w *rollout.Workload) (list []report.Annotation) {
	title := w.Title() + ": " + Headline(r, w)
	if w.Verdict != rollout.LosesNone || len(w.Waits) > 0 {
		a := report.Annotation{Level: report.ErrorLevel, Line: w.Line, Title: title}
		if !w.Bad() {
			a.Level = report.NoticeLevel // a requirement lets it lose as many, or wait
		}
		a.Message = message(w)
		list = append(list, a)
	}
	for _, v := range w.Requirements {
		if !v.Met {
			list = append(list, report.Annotation{Line: w.Line, Title: w.Title() + ": a requirement is not met",
				Message: Requirement(&v)})
		}
	}
	return list
}

// message says why, what helps, and how to see the run.
func message(w *rollout.Workload) string {
	var lines []string
	if w.Reason != "" {
		lines = append(lines, w.Reason)
	}
	if w.Fix != "" {
		lines = append(lines, "Fix: "+w.Fix)
	}
	for _, f := range w.Fixes {
		lines = append(lines, fmt.Sprintf("%s %s (line %d)", FixWord(&f), Fix(&f), f.Line))
	}
	if w.Worst.Command != "" {
		lines = append(lines, "show: "+w.Worst.Command)
	}
	return strings.Join(lines, "\n")
}
