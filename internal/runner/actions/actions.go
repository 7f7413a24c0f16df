// Package actions writes for GitHub Actions: annotations, and the summary of a job.
package actions

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"probesim.dev/internal/show/findings"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// Annotate writes a GitHub annotation for each error in files, with a title, or for another error,
// with the title other.
func Annotate(w io.Writer, title, other string, err error) {
	var all scenarios.Errors
	if !errors.As(err, &all) {
		findings.Annotate(w, findings.Annotation{Title: other, Message: err.Error()})
		return
	}
	for _, e := range all {
		findings.Annotate(w, findings.Annotation{File: Path(e.File), Line: e.Line, Column: e.Column, Title: title,
			Message: e.Text()})
	}
}

// Summary appends a summary to the job summary of a GitHub Actions workflow, if there is one.
func Summary(write func(io.Writer) error) error {
	name := os.Getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("cannot write the job summary: %w; unset GITHUB_STEP_SUMMARY to write none", err)
	}
	return errors.Join(write(f), f.Close())
}

// Path returns the path of a file relative to the repository that a GitHub Actions workflow has
// checked out, as annotations need it. It returns files outside the repository unchanged, and no
// file for stdin.
func Path(file string) string {
	if file == plan.Stdin {
		return ""
	}
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" {
		return filepath.ToSlash(file)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	relative, err := filepath.Rel(root, abs)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(relative)
}
