package main

import (
	"io"
	"slices"

	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/show/report"
)

// answer is the result of a command, in all formats.
type answer struct {
	json     any
	document *document.Document
	findings *findings.List
	details  bool // text has all sections
}

// write writes the answer in a format. For GitHub Actions, it also adds the document to the summary
// of the job.
func (a *answer) write(w io.Writer, format string) error {
	switch {
	case format == "json":
		return report.WriteJSON(w, a.json)
	case slices.Contains(findings.Formats, format):
		a.findings.Version = version()
		if format == "github" {
			if err := actions.Summary(func(w io.Writer) error {
				return a.document.Write(w, "markdown",
					document.Options{})
			}); err != nil {
				return err
			}
		}
		return a.findings.Write(w, format, actions.Path)
	}
	o := terminal.Options(w).Document()
	o.Details = a.details
	return a.document.Write(w, format, o)
}
