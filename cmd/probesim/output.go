package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
)

// answer is the result of a command, in all formats.
type answer struct {
	json     any
	document *document.Document
	findings *findings.List
	details  bool // text has all sections
}

// write writes the answer in a format to standard output, and to the files of --also, if any.
func (a *answer) write(cmd *cobra.Command, format string, also alsoFiles) error {
	if err := a.to(cmd.OutOrStdout(), format); err != nil {
		return err
	}
	return also.write(cmd.Context(), a.to)
}

// to writes the answer in a format. For GitHub Actions, it also adds the document to the summary of
// the job.
func (a *answer) to(w io.Writer, format string) error {
	switch {
	case format == "json":
		return printable.WriteJSON(w, a.json)
	case slices.Contains(findings.Formats, format):
		a.findings.Version = version()
		err := a.findings.Write(w, format, actions.Path)
		if err == nil && format == "github" {
			err = actions.Summary(func(w io.Writer) error { return a.to(w, "markdown") })
		}
		return err
	}
	o := terminal.Options(w).Document()
	o.Details = a.details
	return a.document.Write(w, format, o)
}
