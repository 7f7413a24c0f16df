package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"probesim.dev/check"
	"probesim.dev/internal/printable"
)

// The parts of a JUnit report that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		File    string     `xml:"file,attr"`
		Line    int        `xml:"line,attr"`
		Failure *junitText `xml:"failure,omitempty"`
		Error   *junitText `xml:"error,omitempty"`
		Output  *junitText `xml:"system-out,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
)

// JUnit writes a JUnit report with a test suite for each file. Each workload, each container with probes and each requirement is a test case. A case
// fails because of a finding that is as bad as a severity, and of a requirement that is not met. Other findings, and workloads without
// probes, are in the output of their case. An empty severity lets no finding fail.
func JUnit(w io.Writer, r *check.Report, failOn check.Severity) error {
	all := junitSuites{Name: "probesim check"}
	for i := range r.Workloads {
		workload := &r.Workloads[i]
		file := printable.Text(workload.File)
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != file {
			all.Suites = append(all.Suites, junitSuite{Name: file})
		}
		s := &all.Suites[len(all.Suites)-1]
		for _, c := range junitCases(workload, failOn) {
			c.Class, c.File = file, file
			s.Tests++
			if c.Failure != nil {
				s.Failures++
			}
			if c.Error != nil {
				s.Errors++
			}
			s.Cases = append(s.Cases, c)
		}
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&printable.Writer{To: w}, "%s%s\n", xml.Header, text)
	return err
}

func junitCases(w *check.Workload, failOn check.Severity) []junitCase {
	title := printable.Text(w.Title())
	own := junitCase{Name: title, Line: w.Line}
	if w.Problem != "" {
		own.Error = &junitText{"the workload was not checked", printable.Lines(w.Problem)}
	}
	var says []string
	if w.NoReadiness {
		says = append(says, unreadyWorkload(w, false))
	}
	if len(w.WithoutProbes) > 0 {
		says = append(says, "Without probes: "+printable.Text(strings.Join(w.WithoutProbes, ", ")))
	}
	for _, v := range w.Overrides {
		says = append(says, printable.Text(v.String()))
	}
	if len(w.NotSimulated) > 0 {
		says = append(says, "Not simulated: "+printable.Text(strings.Join(w.NotSimulated, ", ")))
	}
	own.Output = junitLines(says)
	list := []junitCase{own}
	for i := range w.Containers {
		c := &w.Containers[i]
		if !c.HasProbes() && len(c.Findings) == 0 {
			continue
		}
		one := junitCase{Name: title + ", container " + printable.Text(c.Name), Line: c.Line}
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
			one.Failure = &junitText{fails[0], strings.Join(fails, "\n")}
		}
		one.Output = junitLines(others)
		list = append(list, one)
	}
	for k := range w.Requirements {
		v := &w.Requirements[k]
		one := junitCase{Name: title + ": " + v.Requirement, Line: v.Line}
		if text := printable.Text(Requirement(v)); !v.Met {
			one.Failure = &junitText{text, text + "\n" + printable.Text(RequirementCommand(v))}
		}
		list = append(list, one)
	}
	return list
}

// junitLines returns lines as the output of a case, or nil if there are none.
func junitLines(lines []string) *junitText {
	if len(lines) == 0 {
		return nil
	}
	return &junitText{Text: strings.Join(lines, "\n")}
}
