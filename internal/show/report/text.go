package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// AddHeading adds the scenario name, the facts of the run, and the description.
func (r *Run) AddHeading(b *document.Body) {
	b.Lead(r.Scenario+" ", strings.Join(r.Facts(), "  "))
	b.Text(document.Plain, Description(r.Description))
	AddNotes(b, r.Notes)
}

// AddNotes adds the notes about a run.
func AddNotes(b *document.Body, notes []string) {
	b.List()
	for _, note := range notes {
		b.Item(document.Item{Mark: "note", Style: document.Warn, Text: note})
	}
}

// Description returns the description of a scenario on one line, for display.
func Description(text string) string { return printable.Text(strings.Join(strings.Fields(text), " ")) }

// RunLine writes one line about a run, with the scenario name padded to pad characters.
func RunLine(w io.Writer, run *Run, pad int, o document.Options) error {
	facts := run.Facts()
	if run.idle() {
		facts = append(facts, nothing)
	}
	line := lineOf(run.Outcome(), run.Scenario, pad, facts...)
	if run.Err != nil {
		line.Notes = errorLines(run.Err)
	}
	return writeLine(w, line, o)
}

// writeLine writes a line for programs that read lines, which does not wrap.
func writeLine(w io.Writer, line document.Item, o document.Options) error {
	o.Width = math.MaxInt
	return document.WriteText(w, o, func(b *document.Body) { b.Item(line) })
}

// lineOf returns the line of a run or a case, with its outcome, padded name and facts.
func lineOf(outcome Outcome, name string, pad int, facts ...string) document.Item {
	mark, style := markOf(outcome, 6)
	return document.Item{Mark: mark, Style: style,
		Text: strings.TrimRight(fmt.Sprintf("%-*s  %s", pad, printable.Text(name), strings.Join(facts, "  ")), " ")}
}

// Mark returns the mark of an outcome, and its style.
func (o Outcome) Mark() (string, document.Style) {
	switch o {
	case Failed:
		return "FAILED", document.Bad
	case Broken:
		return "ERROR", document.Bad
	case OK:
		return "ok", document.Good
	}
	return string(o), document.Dim
}

// markOf returns the mark of an outcome, padded, and its style.
func markOf(outcome Outcome, pad int) (string, document.Style) {
	mark, style := outcome.Mark()
	return fmt.Sprintf("%-*s", pad, mark), style
}

func errorLines(err error) []string { return strings.Split(strings.TrimSpace(err.Error()), "\n") }

// Facts returns the version, seed, virtual time, restarts and probe errors of the run, for display.
func (r *Run) Facts() []string {
	facts := []string{r.Kubernetes}
	if r.Seed != nil {
		facts = append(facts, fmt.Sprintf("seed %d", *r.Seed))
	}
	facts = append(facts, value.Format(r.Until.Offset()), Plural(r.Restarts, "restart"))
	if r.ProbeErrors > 0 {
		facts = append(facts, Plural(r.ProbeErrors, "probe error"))
	}
	return facts
}

// Plural returns a number of things: no restarts, 1 restart or 2 restarts.
func Plural(n int, word string) string {
	if n == 0 {
		return "no " + word + "s"
	}
	return printable.Count(n, word)
}

// Summary writes the number of runs with each outcome.
func Summary(w io.Writer, cases []Case, o document.Options) error {
	style := document.Good
	if Worst(cases) != OK {
		style = document.Bad
	}
	return document.WriteLine(w, style, Verdict(cases), o)
}

// Verdict says how many runs have each outcome.
func Verdict(cases []Case) string {
	runs := map[Outcome]int{}
	total, some, invalid := 0, 0, 0
	for i := range cases {
		if cases[i].Err != nil {
			invalid++
		}
		for _, r := range cases[i].Runs {
			runs[r.Outcome()]++
			total++
		}
		if worst(cases[i].Expectations) == Failed {
			some++
		}
	}
	text := fmt.Sprintf("%s: %s", Plural(total, "run"), countsOf(runs, unchecked(cases)))
	if some > 0 {
		text += ", " + Plural(some, "scenario") + " failed across all runs"
	}
	if invalid > 0 {
		text += ", " + Plural(invalid, "file") + " invalid"
	}
	return text
}

// unchecked says in how many of the runs that are ok nothing was checked, after a space and in
// parentheses, or "".
func unchecked(cases []Case) string {
	idle, ok := 0, 0
	for i := range cases {
		for _, r := range cases[i].Runs {
			if r.Outcome() == OK && r.History == nil {
				ok++
			}
			if r.idle() && len(cases[i].Expectations) == 0 {
				idle++
			}
		}
	}
	switch idle {
	case 0:
		return ""
	case ok:
		return " (" + nothing + ")"
	}
	return fmt.Sprintf(" (%s in %d)", nothing, idle)
}

// CaseLine writes what the runs of a case do not prove, and the failed expectations that need to
// hold in at least one run.
func CaseLine(w io.Writer, c *Case, pad int, o document.Options) error {
	if worst(c.Expectations) != Failed {
		return c.unproven(w, o)
	}
	line := lineOf(Failed, c.Scenario, pad, c.Kubernetes, "across "+Plural(len(c.Runs), "run"))
	line.Body = &document.Body{}
	AddFailures(line.Body, c.Expectations)
	return errors.Join(c.unproven(w, o), document.WriteText(w, o, func(b *document.Body) { b.Item(line) }))
}

func (c *Case) unproven(w io.Writer, o document.Options) error {
	o.Margin += 2
	return document.WriteText(w, o, func(b *document.Body) { AddNotes(b, c.Unproven) })
}

// AddChecks adds a line for each expectation, and the details of failed ones.
func AddChecks(b *document.Body, expectations []Expectation) {
	b.List()
	for i := range expectations {
		b.Item(expectations[i].item())
	}
}

// AddFailures adds the failed expectations with details.
func AddFailures(b *document.Body, expectations []Expectation) { AddChecks(b, FailedOf(expectations)) }

// FailedOf returns the expectations that failed.
func FailedOf(all []Expectation) (list []Expectation) {
	for i := range all {
		if all[i].Outcome == Failed {
			list = append(list, all[i])
		}
	}
	return list
}

// item returns the line of an expectation. If it failed, what was expected is below.
func (e *Expectation) item() document.Item {
	x := document.Item{Text: e.Name}
	x.Mark, x.Style = markOf(e.Outcome, 7)
	if e.Outcome != Failed {
		x.Text += parens(e.Why)
		return x
	}
	x.Body = &document.Body{}
	e.details(x.Body, "", "")
	return x
}

// details adds where an expectation stands, the seeds that broke it, and how it failed.
func (e *Expectation) details(b *document.Body, seeds, seed string) {
	add := func(mark, text string) { b.Item(document.Item{Mark: fmt.Sprintf("%-8s", mark), Text: text}) }
	add("at", fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column))
	if seeds != "" {
		add("broken", "by "+seeds)
	}
	b.Text(document.Plain, e.Why)
	for i := range e.Failures {
		f := &e.Failures[i]
		add("expected", f.Expected)
		add("got", f.Got+seed)
		AddAround(b, f.Around)
	}
	if e.More > 0 {
		b.Text(document.Plain, fmt.Sprintf("and %d more%s", e.More, seed))
	}
}

// AddAround adds the records around a moment, with a ">" at those that are marked.
func AddAround(b *document.Body, lines []Line) {
	records := newRecords(lines, func(l Line) *trace.Record { return l.Record })
	for _, l := range lines {
		if l.Mark {
			records.add("> ", document.Bad, l.Record)
		} else {
			records.add("  ", document.Dim, l.Record)
		}
	}
	b.Table(&records.Table)
}

// records is a table of records.
type records struct {
	document.Table
	width int // of the times
}

// newRecords returns an empty table for the records of a list.
func newRecords[T any](list []T, of func(T) *trace.Record) *records {
	r := &records{Table: document.Table{Left: 3}}
	for _, x := range list {
		r.width = max(r.width, utf8.RuneCountInString(trace.FormatTime(of(x).T)))
	}
	return r
}

func (r *records) add(mark string, style document.Style, x *trace.Record) {
	r.Row(document.Cell{Text: fmt.Sprintf("%s%*s", mark, r.width, trace.FormatTime(x.T)), Style: style,
		Steps: []int64{x.Step}},
		document.Cell{Text: x.Subject(), Style: style}, document.Cell{Text: x.Summary(), Style: style})
}

// parens returns a text in parentheses after a space, or "" without a text.
func parens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
