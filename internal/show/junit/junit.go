// Package junit writes the part of JUnit reports that CI systems read.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"

	"probesim.dev/internal/printable"
)

// Report is a JUnit report. Its suites and cases have the order in which they are added.
type Report struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []*Suite `xml:"testsuite"`
}

// Suite has the cases of a file.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case is a test case. It fails if it has a Failure, and could not be run if it has an Error.
type Case struct {
	Name       string      `xml:"name,attr"`
	Class      string      `xml:"classname,attr"`
	File       string      `xml:"file,attr"`
	Line       int         `xml:"line,attr"`
	Properties *Properties `xml:"properties,omitempty"`
	Failure    *Text       `xml:"failure,omitempty"`
	Error      *Text       `xml:"error,omitempty"`
	Skipped    *Text       `xml:"skipped,omitempty"`
	Output     *Output     `xml:"system-out,omitempty"`
}

// Properties are those of a case.
type Properties struct {
	Properties []Property `xml:"property"`
}

// Property is a name with a value.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Text is the text of a failure, with its first line.
type Text struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// Output is what a case prints.
type Output struct {
	Text string `xml:",cdata"`
}

// Add adds a case of a file: to the last suite if that is the one of the file, or to a new one. The
// class of the case is its file.
func (r *Report) Add(file string, c Case) {
	file = printable.Text(file)
	if n := len(r.Suites); n == 0 || r.Suites[n-1].Name != file {
		r.Suites = append(r.Suites, &Suite{Name: file})
	}
	s := r.Suites[len(r.Suites)-1]
	c.Class, c.File = file, file
	s.Cases = append(s.Cases, c)
	s.Tests, r.Tests = s.Tests+1, r.Tests+1
	if c.Failure != nil {
		s.Failures, r.Failures = s.Failures+1, r.Failures+1
	}
	if c.Error != nil {
		s.Errors, r.Errors = s.Errors+1, r.Errors+1
	}
}

// Write writes the report. It contains no durations: the same cases give the same bytes.
func (r *Report) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&printable.Writer{To: w}, "%s%s\n", xml.Header, text)
	return err
}
