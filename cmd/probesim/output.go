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

// reportOutputs are the formats of a report about manifests.
var reportOutputs = []string{"table", "json", "markdown", "html", "github", "sarif", "junit"}

// reportFormats ends the list of these formats in a help text, and begins that of the exit codes.
const reportFormats = `
  json       stable JSON, described in docs/json.md
  markdown   tables for a pull request
  github     annotations for GitHub Actions, and tables in the job summary
  sarif      findings for code scanning
  junit      a JUnit report for CI systems

Exit codes:`

// manifestExits ends the help text of a command that reads manifests.
const manifestExits = `
  2    invalid usage or an invalid manifest, or one that cannot be simulated` + usualExits

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
	o := terminal.Options(w)
	o.Details = a.details
	return a.document.Write(w, format, o)
}
