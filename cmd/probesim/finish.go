package main

import (
	"fmt"
	"io"
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/report"
)

// finish writes reports over all runs, and returns the exit code as an error.
func (out *output) finish(interrupted bool) error {
	out.progress.stop()
	interrupted = interrupted && out.completed() < len(out.jobs)
	if interrupted && slices.Contains([]string{"json", "junit", "html", "github"}, out.format) {
		out.addSkipped()
	}
	code := out.exitCode()
	if err := out.summarizeRest(); err != nil {
		return err
	}
	out.cases = append(out.cases, invalidCases(out.invalid)...)
	var err error
	switch out.format {
	case "json":
		err = report.JSON(out.stdout, out.cases)
	case "junit":
		err = report.JUnit(out.stdout, out.cases)
	case "html":
		err = out.page.Write(out.stdout, out.cases)
	case "perfetto":
		err = out.perfetto.Close()
	case "github":
		if err = report.Summary(out.stdout, out.cases, out.text); err == nil {
			err = report.GitHub(out.commands, out.cases, repositoryPath)
		}
		if err == nil {
			err = writeJobSummary(func(w io.Writer) error { return report.Markdown(w, out.cases) })
		}
		if len(out.invalid) > 0 {
			annotate(out.commands, "invalid scenario file", "nothing was run", out.invalid)
		}
	case "timeline", "summary", "lines":
		if (len(out.jobs) > 1 || len(out.invalid) > 0) && out.emitted > 0 {
			if len(out.jobs) == 1 && out.format == "timeline" {
				fmt.Fprintln(out.stdout)
			}
			err = report.Summary(out.stdout, out.cases, out.text)
		}
	}
	if err != nil {
		return err
	}
	out.noteSize()
	if interrupted {
		return &exitError{exitInterrupted, out.interruption()}
	}
	return code
}

// summarizeRest writes the summary of a case that was interrupted. It is about the completed runs.
func (out *output) summarizeRest() error {
	n := len(out.cases)
	if out.emitted == 0 || out.emitted == len(out.jobs) || out.format == "github" {
		return nil
	}
	j, c := out.jobs[out.emitted-1], &out.cases[n-1]
	if !out.summarizes(j) || len(c.Runs) == j.runs {
		return nil
	}
	return report.CaseSummary(out.stdout, c, out.pad, out.text)
}

// interruption says how many runs completed.
func (out *output) interruption() error {
	if j := out.jobs[0]; len(out.jobs) == 1 && out.emitted == 1 {
		return fmt.Errorf("interrupted at %s of %s", value.Format(out.cases[0].Runs[0].Until.Offset()), value.Format(j.until.Offset()))
	}
	return fmt.Errorf("interrupted: %d of %d runs completed", out.completed(), len(out.jobs))
}

func (out *output) completed() int {
	n := 0
	for i := range out.cases {
		for _, r := range out.cases[i].Runs {
			if r.Err != errInterrupted {
				n++
			}
		}
	}
	return n
}

func (out *output) exitCode() error {
	code := exitOK
	for i := range out.cases {
		switch out.cases[i].Outcome() {
		case report.Broken:
			code = exitBroken
		case report.Failed:
			code = max(code, exitFailed)
		}
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}
