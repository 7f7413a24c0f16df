package render

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/junit"
)

// JUnit writes a JUnit report with a test suite for each file. Each workload, each container with
// probes and each requirement is a test case. A case fails because of a finding that is as bad as a
// severity, and of a requirement that is not met. Other findings, and workloads without probes, are
// in the output of their case. An empty severity lets no finding fail.
func JUnit(w io.Writer, r *check.Report, failOn check.Severity) error {
	all := junit.Report{Name: "probesim check"}
	for i := range r.Workloads {
		for _, c := range junitCases(&r.Workloads[i], failOn) {
			all.Add(r.Workloads[i].File, c)
		}
	}
	return all.Write(w)
}

func junitCases(w *check.Workload, failOn check.Severity) []junit.Case {
	title := printable.Text(w.Title())
	own := junit.Case{Name: title, Line: w.Line}
	if w.Problem != "" {
		own.Error = &junit.Text{Message: "the workload was not checked", Text: printable.Lines(w.Problem)}
	}
	var says []string
	if w.NoReadiness {
		says = append(says, unreadyWorkload(w, false))
	}
	if len(w.WithoutProbes) > 0 {
		says = append(says, "Without probes: "+printable.Text(strings.Join(w.WithoutProbes, ", ")))
	}
	if len(w.NotSimulated) > 0 {
		says = append(says, "Not simulated: "+printable.Text(strings.Join(w.NotSimulated, ", ")))
	}
	own.Output = junitLines(says)
	list := []junit.Case{own}
	for i := range w.Containers {
		c := &w.Containers[i]
		if !c.HasProbes() && len(c.Findings) == 0 {
			continue
		}
		one := junit.Case{Name: title + ", container " + printable.Text(c.Name), Line: c.Line}
		var fails, others []string
		for k := range c.Findings {
			f := &c.Findings[k]
			text := printable.Text(fmt.Sprintf("%s %s (%s:%d): %s", f.Severity, f.ID, f.File, f.Line, f.Text()))
			if failOn != "" && f.Severity.AtLeast(failOn) {
				fails = append(fails, text)
			} else {
				others = append(others, text)
			}
		}
		if len(fails) > 0 {
			one.Failure = &junit.Text{Message: fails[0], Text: strings.Join(fails, "\n")}
		}
		one.Output = junitLines(others)
		list = append(list, one)
	}
	for k := range w.Requirements {
		v := &w.Requirements[k]
		one := junit.Case{Name: title + ": " + v.Requirement, Line: v.Line}
		if text := printable.Text(Requirement(v)); !v.Met {
			one.Failure = &junit.Text{Message: text, Text: text + "\n" + printable.Text(RequirementCommand(v))}
		}
		list = append(list, one)
	}
	return list
}

// junitLines returns lines as the output of a case, or nil if there are none.
func junitLines(lines []string) *junit.Output {
	if len(lines) == 0 {
		return nil
	}
	return &junit.Output{Text: strings.Join(lines, "\n")}
}
