package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"probesim.dev/report"
	"probesim.dev/scenarios"
)

// annotate writes an annotation for GitHub for each thing that is wrong in files.
func annotate(w io.Writer, err error) {
	var all scenarios.Errors
	if !errors.As(err, &all) {
		report.Annotate(w, report.Annotation{Title: "nothing was run", Message: err.Error()})
		return
	}
	for _, e := range all {
		message := e.Message
		if e.Path != "" {
			message = e.Path + ": " + message
		}
		report.Annotate(w, report.Annotation{File: repositoryPath(e.File), Line: e.Line, Column: e.Column, Title: "bad scenario file", Message: message})
	}
}

// repositoryPath returns the path of a file from the root of the repository that a workflow of GitHub Actions has
// checked out, which is what annotations need; elsewhere the path as it is.
func repositoryPath(file string) string {
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
