package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
)

// content is the data of the page for the template.
type content struct {
	head
	Rows    []row // in the order of the cases
	List    []row // the rows for the list of runs, failed and worst runs first
	Cases   []caseSummary
	Several bool // whether there are several rows
	Verdict string
	Counts  map[report.Outcome]int
	// Unchecked says in how many runs nothing was checked.
	Unchecked string
	Invalid   int // number of invalid files
	Runs      int
	Missing   int  // number of runs without a section
	Chosen    bool // whether they are missing by choice, not because of the size of the page
}

// row is a run in the list of runs, or a failure across all runs of a case.
type row struct {
	*report.Run
	of      *report.Case // nil for a row that is not a run
	ID      string       // ID of the section, or empty
	Body    template.HTML
	File    string
	Line    int
	Why     string // summary of the failures
	Over    []*report.Expectation
	Outcome report.Outcome
	Invalid bool // an invalid file stands in place of the run
}

// Ready, Unready and Started return numbers of the run for the list of runs.
func (x *row) Ready() string   { return x.number(report.Span(x.Total.ToReady)) }
func (x *row) Unready() string { return x.number(report.Unready(x.Total)) }
func (x *row) Started() string { return x.number(strconv.Itoa(x.Restarts)) }

func (x *row) number(text string) string {
	if x.Over != nil || x.Invalid {
		return ""
	}
	return text
}

// sortRows puts unsuccessful runs first. Within a case, the worst runs come first.
func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := cmp.Compare(yes(a.Outcome == report.OK), yes(b.Outcome == report.OK)); c != 0 {
			return c
		}
		if a.of != b.of || a.of == nil {
			return 0
		}
		return report.Worse(a.Run, b.Run)
	})
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newDocument(cases []report.Case) *content {
	d := &content{Counts: map[report.Outcome]int{}, Unchecked: report.Unchecked(cases)}
	runs := 0
	for i := range cases {
		c := &cases[i]
		if c.Err != nil {
			d.Invalid++
			d.Rows = append(d.Rows, row{File: c.File, Why: printable.Lines(c.Err.Error()), Outcome: report.Broken,
				Invalid: true, Run: &report.Run{Scenario: c.File}})
		}
		for _, r := range c.Runs {
			runs++
			d.Counts[r.Outcome()]++
			d.Rows = append(d.Rows, newRow(c, r, runs))
			if r.Output == "" {
				d.Missing++
			}
		}
		if over := failed(c.Expectations); len(over) > 0 {
			d.Rows = append(d.Rows, row{File: c.File, Line: c.Line, Over: over, Outcome: report.Failed,
				Run: &report.Run{Scenario: c.Scenario, Kubernetes: c.Kubernetes}})
		}
	}
	d.Cases = summaries(cases, d.Rows)
	d.List = slices.Clone(d.Rows)
	sortRows(d.List)
	d.Runs = runs
	d.Several = len(d.Rows) > 1 || d.Invalid > 0
	d.Verdict = verdict(runs, d)
	d.Title = "probesim: " + d.Verdict
	if runs == 1 && len(cases) == 1 {
		d.Title = fmt.Sprintf("%s: %s", printable.Text(cases[0].Scenario), d.Verdict)
	}
	return d
}

func newRow(c *report.Case, r *report.Run, number int) row {
	x := row{Run: r, of: c, File: c.File, Line: c.Line, Outcome: r.Outcome(), Body: template.HTML(r.Output)}
	if r.Output != "" {
		x.ID = fmt.Sprintf("r%d", number)
	}
	if list := failed(r.Expectations); len(list) > 0 {
		x.Why = printable.Text(list[0].Name)
		if len(list) > 1 {
			x.Why += fmt.Sprintf(" and %d more", len(list)-1)
		}
	}
	if r.Err != nil {
		x.Why = printable.Text(r.Err.Error())
	}
	return x
}

func failed(all []report.Expectation) []*report.Expectation {
	var list []*report.Expectation
	for i := range all {
		if all[i].Outcome == report.Failed {
			list = append(list, &all[i])
		}
	}
	return list
}

func verdict(runs int, d *content) string {
	text := fmt.Sprintf("%s, %s ok%s", plural(runs, "run"), printable.Thousands(d.Counts[report.OK]), d.Unchecked)
	if n := d.Counts[report.Failed]; n > 0 {
		text += fmt.Sprintf(", %s failed", printable.Thousands(n))
	}
	if n := d.Counts[report.Broken]; n > 0 {
		text += fmt.Sprintf(", %s ended early", printable.Thousands(n))
	}
	if d.Invalid > 0 {
		text += ", " + plural(d.Invalid, "file") + " invalid"
	}
	return text
}

// Shown returns the number of runs with a section.
func (d *content) Shown() int { return d.Runs - d.Missing }
