package html

import (
	"fmt"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
)

// content is the data of the page.
type content struct {
	Title   string
	Rows    []row // in the order of the cases
	List    []row // the rows for the list of runs, failed and worst runs first
	Cases   []caseSummary
	Several bool // whether there are several rows
	Verdict string
	Runs    int
	Missing int  // number of runs without a section
	Chosen  bool // whether they are missing by choice, not because of the size of the page
}

// row is a run in the list of runs, or a failure across all runs of a case.
type row struct {
	*report.Run
	of      *report.Case // nil for a row that is not a run
	ID      string       // ID of the section, or empty
	File    string
	Line    int
	Why     string // summary of the failures
	Over    []report.Expectation
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
		switch aOK, bOK := a.Outcome == report.OK, b.Outcome == report.OK; {
		case aOK && !bOK:
			return 1
		case bOK && !aOK:
			return -1
		case a.of != b.of || a.of == nil:
			return 0
		}
		return report.Worse(a.Run, b.Run)
	})
}

func newDocument(cases []report.Case) *content {
	d := &content{Verdict: report.Verdict(cases)}
	runs, invalid := 0, 0
	for i := range cases {
		c := &cases[i]
		if c.Err != nil {
			invalid++
			d.Rows = append(d.Rows, row{File: c.File, Why: printable.Lines(c.Err.Error()), Outcome: report.Broken,
				Invalid: true, Run: &report.Run{Scenario: c.File}})
		}
		for _, r := range c.Runs {
			runs++
			d.Rows = append(d.Rows, newRow(c, r, runs))
			if r.Output == "" {
				d.Missing++
			}
		}
		if over := report.FailedOf(c.Expectations); len(over) > 0 {
			d.Rows = append(d.Rows, row{File: c.File, Line: c.Line, Over: over, Outcome: report.Failed,
				Run: &report.Run{Scenario: c.Scenario, Kubernetes: c.Kubernetes}})
		}
	}
	d.Cases = summaries(cases, d.Rows)
	d.List = slices.Clone(d.Rows)
	sortRows(d.List)
	d.Runs = runs
	d.Several = len(d.Rows) > 1 || invalid > 0
	d.Title = "probesim: " + d.Verdict
	if runs == 1 && len(cases) == 1 {
		d.Title = fmt.Sprintf("%s: %s", printable.Text(cases[0].Scenario), d.Verdict)
	}
	return d
}

func newRow(c *report.Case, r *report.Run, number int) row {
	x := row{Run: r, of: c, File: c.File, Line: c.Line, Outcome: r.Outcome()}
	if r.Output != "" {
		x.ID = fmt.Sprintf("r%d", number)
	}
	if list := report.FailedOf(r.Expectations); len(list) > 0 {
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

// Shown returns the number of runs with a section.
func (d *content) Shown() int { return d.Runs - d.Missing }
