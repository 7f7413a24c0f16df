package render

import (
	"io"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/report"
)

// GitHub writes an annotation of GitHub Actions for the workloads without a readiness probe, for
// each finding, for each requirement that is not met, and for each workload that could not be
// checked. The function path converts file names to paths relative to the root of the repository.
func GitHub(w io.Writer, r *check.Report, path func(string) string) error {
	if a, found := unready(r); found {
		a.File = path(a.File)
		if err := report.Annotate(w, a); err != nil {
			return err
		}
	}
	for i := range r.Workloads {
		for _, a := range annotations(&r.Workloads[i], len(Unready(r)) > 0) {
			a.File = path(a.File)
			if err := report.Annotate(w, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// unready returns an annotation that names all workloads without a readiness probe, at the first
// one: GitHub shows only few annotations.
func unready(r *check.Report) (report.Annotation, bool) {
	if len(Unready(r)) == 0 { // there is none, or a finding says so
		return report.Annotation{}, false
	}
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.NoReadiness {
			return report.Annotation{Level: report.NoticeLevel, File: w.File, Line: w.Line, Title: "no readiness probe",
				Message: strings.Join(Unready(r), "\n")}, true
		}
	}
	return report.Annotation{}, false
}

var levels = map[check.Severity]report.Level{check.Error: report.ErrorLevel, check.Warning: report.WarningLevel,
	check.Note: report.NoticeLevel}

func annotations(w *check.Workload, named bool) []report.Annotation {
	var list []report.Annotation
	title := w.Title()
	for _, c := range w.Containers {
		for _, f := range c.Findings {
			if f.ID == check.NoProbes && named { // unready names its workload
				continue
			}
			message := f.Text()
			if command := Command(&f); command != "" {
				message += "\n" + command
			}
			list = append(list, report.Annotation{
				Level: levels[f.Severity], File: f.File, Line: f.Line, Column: f.Column, Title: title + ", container " +
					c.Name + ": " + string(f.ID), Message: message,
			})
		}
	}
	for _, v := range w.Requirements {
		if !v.Met {
			message := Requirement(&v)
			if command := RequirementCommand(&v); command != "" {
				message += "\n" + command
			}
			list = append(list, report.Annotation{File: v.File, Line: v.Line, Column: v.Column,
				Title: title + ": a requirement is not met", Message: message})
		}
	}
	if w.Problem != "" {
		list = append(list, report.Annotation{File: w.File, Line: w.Line, Title: title + " was not checked",
			Message: w.Problem})
	}
	return list
}
