package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string           `xml:"name,attr"`
	Class      string           `xml:"classname,attr"`
	File       string           `xml:"file,attr"`
	Line       int              `xml:"line,attr"`
	Properties *junitProperties `xml:"properties,omitempty"`
	Failure    *junitText       `xml:"failure,omitempty"`
	Error      *junitText       `xml:"error,omitempty"`
	Skipped    *junitText       `xml:"skipped,omitempty"`
	Output     *junitOutput     `xml:"system-out,omitempty"`
}

type junitProperties struct {
	Properties []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

type junitOutput struct {
	Text string `xml:",cdata"`
}

// JUnit writes a JUnit report with one test suite for each file and one test case for each case, in the given order. The
// properties of a test case are the seed, hash and replay command of its first unsuccessful run, or of its first run, and the
// statistics of all its runs. The report contains no durations: the same cases give the same bytes.
func JUnit(w io.Writer, cases []Case) error {
	suites := junitSuites{Name: "probesim"}
	for i := range cases {
		c, file := &cases[i], printable.Text(cases[i].File)
		if n := len(suites.Suites); n == 0 || suites.Suites[n-1].Name != file {
			suites.Suites = append(suites.Suites, junitSuite{Name: file})
		}
		suites.Suites[len(suites.Suites)-1].add(c)
	}
	for _, s := range suites.Suites {
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
	}
	text, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return err
	}
	return Options{}.write(w, fmt.Sprintf("%s%s\n", xml.Header, text))
}

// invalidFile stands for the scenarios of an invalid file.
const invalidFile = "invalid scenario file"

func (s *junitSuite) add(c *Case) {
	shown, file := c.shown(), printable.Text(c.File)
	jc := junitCase{Name: fmt.Sprintf("%s [%s]", printable.Text(c.Scenario), c.Kubernetes), Class: file, File: file, Line: c.Line}
	if c.Err != nil {
		jc.Name = invalidFile
	}
	if shown != nil {
		jc.Properties = &junitProperties{append(shown.properties(), c.properties()...)}
		if shown.Output != "" {
			jc.Output = &junitOutput{printable.Lines(shown.Output)}
		}
	}
	s.Tests++
	switch c.Outcome() {
	case Failed:
		s.Failures++
		jc.Failure = &junitText{c.headline(), c.failureText()}
	case Broken:
		s.Errors++
		jc.Error = &junitText{c.headline(), c.failureText()}
	}
	if c.idle() {
		jc.Skipped = &junitText{Message: nothing}
	}
	s.Cases = append(s.Cases, jc)
}

// shown returns the first unsuccessful run, or the first run.
func (c *Case) shown() *Run {
	for _, r := range c.Runs {
		if r.Outcome() != OK {
			return r
		}
	}
	if len(c.Runs) > 0 {
		return c.Runs[0]
	}
	return nil
}

func (r *Run) properties() []junitProperty {
	properties := []junitProperty{{"hash", r.Hash}}
	if r.Replay != "" {
		properties = append(properties, junitProperty{"replay", printable.Text(r.Replay)})
	}
	if r.Seed != nil {
		properties = append(properties, junitProperty{"seed", strconv.FormatInt(*r.Seed, 10)})
	}
	return properties
}

// headline summarizes the failures of a case on one line.
func (c *Case) headline() string {
	if c.Err != nil {
		return invalidFile
	}
	for _, r := range c.Runs {
		if r.Err != nil {
			first, _, _ := strings.Cut(r.Err.Error(), "\n")
			return printable.Text(first)
		}
	}
	failed := 0
	for _, r := range c.Runs {
		if r.Outcome() == Failed {
			failed++
		}
	}
	switch {
	case len(c.Runs) == 1:
		return "an expectation failed"
	case failed == 0:
		return fmt.Sprintf("an expectation held in none of %d runs", len(c.Runs))
	}
	return fmt.Sprintf("%d of %d runs failed", failed, len(c.Runs))
}

// failureText describes all failures of a case, run by run.
func (c *Case) failureText() string {
	var b strings.Builder
	o := Options{Width: 120}
	if c.Err != nil {
		b.WriteString(printable.Lines(c.Err.Error()) + "\n")
	}
	for _, r := range c.Runs {
		if r.Outcome() == OK {
			continue
		}
		RunLine(&b, r, 0, o)
		Notes(&b, r.Notes, o)
		if r.Replay != "" {
			fmt.Fprintf(&b, "to repeat this run: %s\n", printable.Text(r.Replay))
		}
		Failures(&b, r.Expectations, o)
	}
	Failures(&b, c.Expectations, o)
	return b.String()
}
