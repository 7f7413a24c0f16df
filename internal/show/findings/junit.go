package findings

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/printable"
)

// The part of JUnit reports that CI systems read.
type (
	junitReport struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct { // the cases of a file
		Name string `xml:"name,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	junitCase struct {
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
	junitProperties struct {
		List []Property `xml:"property"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
	junitOutput struct {
		Text string `xml:",cdata"`
	}
)

// writeJUnit writes a JUnit report with a suite for the cases of each file that follow each other.
// It contains no durations: the same cases give the same bytes.
func (l *List) writeJUnit(w io.Writer) error {
	all := junitReport{Name: l.Command}
	for i := range l.Cases {
		c := l.Cases[i].junit()
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != c.File {
			all.Suites = append(all.Suites, &junitSuite{Name: c.File})
		}
		s := all.Suites[len(all.Suites)-1]
		s.Cases = append(s.Cases, c)
		for _, n := range []*junitCounts{&s.junitCounts, &all.junitCounts} {
			n.Tests++
			if c.Failure != nil {
				n.Failures++
			}
			if c.Error != nil {
				n.Errors++
			}
		}
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&printable.Writer{To: w}, "%s%s\n", xml.Header, text)
	return err
}

func (c *Case) junit() junitCase {
	file := printable.Text(c.File)
	one := junitCase{Name: printable.Text(c.Name), Class: file, File: file, Line: c.Line}
	var fails, output []string
	if c.Output != "" {
		output = append(output, printable.Lines(c.Output))
	}
	for i := range c.Findings {
		switch f := &c.Findings[i]; {
		case f.Known != "":
		case f.Fails:
			fails = append(fails, f.text())
		default:
			output = append(output, f.text())
		}
	}
	for _, note := range c.Notes {
		output = append(output, printable.Text(note))
	}
	text := cmp.Or(printable.Lines(c.Text), strings.Join(fails, "\n"))
	first, _, _ := strings.Cut(text, "\n")
	failure := &junitText{cmp.Or(printable.Text(c.Message), first), text}
	switch {
	case c.Problem != "":
		one.Error = &junitText{"not judged", printable.Lines(c.Problem)}
	case c.Ended:
		one.Error = failure
	}
	if text != "" && !c.Ended {
		one.Failure = failure
	}
	if c.Skipped != "" {
		one.Skipped = &junitText{Message: c.Skipped}
	}
	if len(output) > 0 {
		one.Output = &junitOutput{strings.Join(output, "\n")}
	}
	if len(c.Properties) > 0 {
		one.Properties = &junitProperties{}
		for _, p := range c.Properties {
			one.Properties.List = append(one.Properties.List,
				Property{printable.Text(p.Name), printable.Text(p.Value)})
		}
	}
	return one
}
