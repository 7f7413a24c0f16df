package render

import (
	"io"

	"probesim.dev/check"
	"probesim.dev/report"
)

// GitHub writes an annotation of GitHub Actions for each finding, for each requirement that is not met, and for each workload that
// could not be checked. The function path converts file names to paths relative to the root of the repository.
func GitHub(w io.Writer, r *check.Report, path func(string) string) error {
	for i := range r.Workloads {
		for _, a := range annotations(&r.Workloads[i]) {
			a.File = path(a.File)
			if err := report.Annotate(w, a); err != nil {
				return err
			}
		}
	}
	return nil
}

var levels = map[check.Severity]report.Level{check.Error: report.ErrorLevel, check.Warning: report.WarningLevel, check.Note: report.NoticeLevel}

func annotations(w *check.Workload) []report.Annotation {
	var list []report.Annotation
	title := w.Title()
	for _, c := range w.Containers {
		for _, f := range c.Findings {
			message := f.Message
			if command := Command(&f); command != "" {
				message += "\n" + command
			}
			list = append(list, report.Annotation{
				Level: levels[f.Severity], File: f.File, Line: f.Line, Column: f.Column, Title: title + ", container " + c.Name + ": " + string(f.ID), Message: message,
			})
		}
	}
	for _, v := range w.Requirements {
		if !v.Met {
			message := Requirement(&v)
			if command := RequirementCommand(&v); command != "" {
				message += "\n" + command
			}
			list = append(list, report.Annotation{File: v.File, Line: v.Line, Column: v.Column, Title: title + ": a requirement is not met", Message: message})
		}
	}
	for _, v := range w.Overrides {
		list = append(list, report.Annotation{Level: report.WarningLevel, File: v.File, Line: v.Line, Column: v.Column, Title: title + ": an annotation differs from the command line", Message: v.String()})
	}
	if w.Problem != "" {
		list = append(list, report.Annotation{File: w.File, Line: w.Line, Title: title + " was not checked", Message: w.Problem})
	}
	return list
}
