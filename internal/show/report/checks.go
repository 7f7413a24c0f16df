package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/trace"
)

// Checks writes one line for each expectation, and the details of failed ones.
func Checks(w io.Writer, expectations []Expectation, o Options) error {
	return writeChecks(w, expectations, o, true)
}

// Failures writes the failed expectations with details.
func Failures(w io.Writer, expectations []Expectation, o Options) error {
	return writeChecks(w, expectations, o, false)
}

// FailedNames writes the names of the failed expectations.
func FailedNames(w io.Writer, expectations []Expectation, o Options) error {
	c := newChecks(o)
	for i := range expectations {
		if e := &expectations[i]; e.Outcome == Failed {
			c.hanging(o.paint(bad, "FAILED")+"   ", 9, printable.Text(e.Name))
		}
	}
	return o.write(w, c.b.String())
}

func writeChecks(w io.Writer, expectations []Expectation, o Options, all bool) error {
	c := newChecks(o)
	for i := range expectations {
		e := &expectations[i]
		name := printable.Text(e.Name)
		switch {
		case e.Outcome == Failed:
			c.failed(e, name)
		case !all:
		case e.Outcome == OK:
			c.hanging(o.paint(good, "ok")+"       ", 9, join(name, parens(printable.Text(e.Why))))
		default:
			c.hanging(o.paint(dim, string(e.Outcome))+strings.Repeat(" ", 9-len(e.Outcome)), 9,
				join(name, parens(printable.Text(e.Why))))
		}
	}
	return o.write(w, c.b.String())
}

// checks builds text about expectations.
type checks struct {
	o      Options
	margin string
	b      strings.Builder
}

func newChecks(o Options) *checks {
	return &checks{o: o, margin: strings.Repeat(" ", o.Indent)}
}

func (c *checks) failed(e *Expectation, name string) {
	c.hanging(c.o.paint(bad, "FAILED")+"   ", 9, name)
	c.hanging("  at        ", 12, e.at())
	if e.Why != "" {
		c.hanging("  ", 2, printable.Text(e.Why))
	}
	for i := range e.Failures {
		f := &e.Failures[i]
		c.hanging("  expected  ", 12, printable.Text(f.Expected))
		c.hanging("  got       ", 12, printable.Text(f.Got))
		c.around(f.Around)
	}
	if e.More > 0 {
		c.hanging("  ", 2, fmt.Sprintf("and %d more", e.More))
	}
}

// at returns the position of the expectation for display.
func (e *Expectation) at() string {
	return fmt.Sprintf("%s:%d:%d", printable.Text(e.File), e.Line, e.Column)
}

// hanging writes a label and wrapped text. It indents the second and later lines to the column
// after the label.
func (c *checks) hanging(label string, indent int, text string) {
	lines := document.Wrap(text, c.o.width()-indent-c.o.Indent, 20)
	c.b.WriteString(c.margin + label + strings.Join(lines, "\n"+c.margin+strings.Repeat(" ", indent)) + "\n")
}

// Around writes the records around a moment, with a ">" at those that are marked.
func Around(w io.Writer, lines []Line, o Options) error {
	c := newChecks(o)
	c.around(lines)
	return o.write(w, c.b.String())
}

// around writes records, with aligned times and subjects.
func (c *checks) around(lines []Line) {
	times, subjects := 0, 0
	for _, l := range lines {
		times = max(times, len(trace.FormatTime(l.Record.T)))
		subjects = max(subjects, utf8.RuneCountInString(l.Record.Subject()))
	}
	for _, l := range lines {
		mark, st := " ", dim
		if l.Mark {
			mark, st = ">", bad
		}
		line := fmt.Sprintf("  %s %*s  %-*s  ", mark, times, trace.FormatTime(l.Record.T), subjects, l.Record.Subject())
		for _, part := range c.record(line, l.Record.Summary()) {
			c.b.WriteString(c.margin + c.o.paint(st, part) + "\n")
		}
	}
}

// record returns the lines of a record. In narrow output, the summary starts on a line below the
// time and the subject.
func (c *checks) record(line, what string) []string {
	var lines []string
	room := c.o.width() - c.o.Indent
	indent := utf8.RuneCountInString(line)
	if room-indent < 30 {
		lines, line, indent = []string{strings.TrimRight(line, " ")}, "      ", 6
	}
	for i, part := range document.Wrap(what, room-indent, 30) {
		if i > 0 {
			line = strings.Repeat(" ", indent)
		}
		lines = append(lines, line+part)
	}
	return lines
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

func join(parts ...string) string {
	var full []string
	for _, p := range parts {
		if p != "" {
			full = append(full, p)
		}
	}
	return strings.Join(full, " ")
}
