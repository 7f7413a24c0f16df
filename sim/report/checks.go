package report

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/sim/trace"
)

// Checks writes one line for each expectation, and all that is known of those that failed.
func Checks(w io.Writer, expectations []Expectation, o Options) error {
	return writeChecks(w, expectations, o, true)
}

// Failures writes the expectations that failed, and why.
func Failures(w io.Writer, expectations []Expectation, o Options) error {
	return writeChecks(w, expectations, o, false)
}

func writeChecks(w io.Writer, expectations []Expectation, o Options, all bool) error {
	var b strings.Builder
	for i := range expectations {
		e := &expectations[i]
		name := trace.Clean(e.Name)
		switch {
		case e.Outcome == Failed:
			writeFailed(&b, e, name, o)
		case !all:
		case e.Outcome == OK:
			hanging(&b, o.paint(good, "ok")+"       ", 9, name, o)
		default:
			hanging(&b, o.paint(dim, string(e.Outcome))+strings.Repeat(" ", 9-len(e.Outcome)), 9, join(name, parens(e.Why)), o)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFailed(b *strings.Builder, e *Expectation, name string, o Options) {
	hanging(b, o.paint(bad, "FAILED")+"   ", 9, name, o)
	fmt.Fprintf(b, "  at        %s:%d:%d\n", e.File, e.Line, e.Column)
	if e.Why != "" {
		fmt.Fprintf(b, "  %s\n", e.Why)
	}
	for i := range e.Failures {
		f := &e.Failures[i]
		hanging(b, "  expected  ", 12, trace.Clean(f.Expected), o)
		hanging(b, "  got       ", 12, trace.Clean(f.Got), o)
		writeAround(b, f.Around, o)
	}
	if e.More > 0 {
		fmt.Fprintf(b, "  and %d more\n", e.More)
	}
}

// hanging writes text behind a label that takes so many columns, wrapped and indented by as many.
func hanging(b *strings.Builder, label string, indent int, text string, o Options) {
	lines := wrap(text, o.width()-indent, 30)
	b.WriteString(label + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n")
}

// writeAround writes records with times and subjects aligned.
func writeAround(b *strings.Builder, lines []Line, o Options) {
	times, subjects := 0, 0
	for _, l := range lines {
		times = max(times, len(trace.FormatTime(l.Record.T)))
		subjects = max(subjects, len(l.Record.Subject()))
	}
	for _, l := range lines {
		mark, st := " ", dim
		if l.Mark {
			mark, st = ">", bad
		}
		line := fmt.Sprintf("  %s %*s  %-*s  ", mark, times, trace.FormatTime(l.Record.T), subjects, l.Record.Subject())
		text := wrap(l.Record.Summary(), o.width()-len(line), 30)
		b.WriteString(o.paint(st, line+strings.Join(text, "\n"+strings.Repeat(" ", len(line)))) + "\n")
	}
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
