package html

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/summary"
)

// maxSize limits the sections of a page, in bytes. Sections of unsuccessful runs may extend the
// page to maxSizeFailed.
const (
	maxSize       = 16 << 20
	maxSizeFailed = 2 * maxSize
)

// Page collects the runs of a page. The zero value is an empty page.
type Page struct {
	// Some says that runs without Output are missing by choice. The page then names the flag that
	// includes them.
	Some bool

	size, runs, shown int
}

// Add adds a run whose Output is its section. If the page is full, Add clears the Output, and the
// page only lists the run.
func (p *Page) Add(run *report.Run) {
	room := maxSize
	if run.Outcome() != report.OK {
		room = maxSizeFailed
	}
	if p.size+len(run.Output) > room {
		run.Output = ""
	}
	if p.runs++; run.Output != "" {
		p.size += len(run.Output)
		p.shown++
		run.ID = fmt.Sprintf("r%d", p.runs)
	}
}

// row is a line of the list of runs.
type row struct {
	of      *report.Case // nil for a row that is not a run
	run     *report.Run
	outcome report.Outcome
	cells   []document.Cell
}

// Write writes the page about cases, whose runs must have been added. The same cases give the same
// bytes.
func (p *Page) Write(w io.Writer, cases []report.Case) error {
	d := document.New("probesim: " + report.Verdict(cases))
	d.Script = charts(asset("page.js"))
	var rows []row
	runs := 0
	for i := range cases {
		c := &cases[i]
		if c.Err != nil {
			rows = append(rows, newRow(report.Broken, c.File, "", c.Err.Error()))
		}
		for _, r := range c.Runs {
			runs++
			rows = append(rows, runRow(c, r))
			addRun(d, c, r)
		}
		if failed := report.FailedOf(c.Expectations); len(failed) > 0 {
			rows = append(rows, newRow(report.Failed, c.Scenario, c.Kubernetes, "in no run: "+named(failed)))
			report.AddChecks(&d.Section(document.Section{Facts: c.Scenario}).Body, failed)
		}
	}
	if runs == 1 && len(cases) == 1 {
		d.Title = fmt.Sprintf("%s: %s", cases[0].Scenario, report.Verdict(cases))
	}
	if d.Headline = len(rows) > 1 || runs == 0; d.Headline {
		p.list(&d.Nav, cases, rows, runs)
	}
	return d.Write(w, "html", document.Options{})
}

// addRun adds the section of a run.
func addRun(d *document.Document, c *report.Case, r *report.Run) {
	if r.Output == "" {
		return
	}
	mark, style := r.Outcome().Mark()
	facts := append(r.Facts(), fmt.Sprintf("%s:%d", c.File, c.Line))
	s := d.Section(document.Section{ID: r.ID, Title: r.Scenario, Badge: mark, Style: style,
		Facts: strings.Join(facts, " · ")})
	s.Command(r.Replay)
	s.Picture(document.Picture{Page: func(w io.Writer) error {
		_, err := io.WriteString(w, r.Output)
		return err
	}})
}

// list adds the summaries of the cases with several runs, and the list of runs: failed runs first,
// and within a case the worst first.
func (p *Page) list(nav *document.Body, cases []report.Case, rows []row, runs int) {
	for i := range cases {
		if c := &cases[i]; c.Statistics != nil && len(c.Runs) > 1 {
			mark, style := c.Outcome().Mark()
			s := nav.Section(document.Section{Title: c.Scenario, Badge: mark, Style: style, Fold: true,
				Closed: len(cases) > 1 && c.Outcome() == report.OK})
			c.AddSummary(&s.Body)
		}
	}
	if p.shown < runs {
		why := ", because of its size limit"
		if p.Some {
			why = ": of scenarios with many runs, the failed and the worst ones"
		}
		nav.Text(document.Warn, fmt.Sprintf("The page has the timelines of %d of %s%s. The list has the command that "+
			"shows each of the others.", p.shown, report.Plural(runs, "run"), why))
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch aOK, bOK := a.outcome == report.OK, b.outcome == report.OK; {
		case aOK && !bOK:
			return 1
		case bOK && !aOK:
			return -1
		case a.of != b.of || a.of == nil:
			return 0
		}
		return report.Worse(a.run, b.run)
	})
	t := &document.Table{Left: 4, Head: []string{"Outcome", "Scenario", "Kubernetes", "What failed", "Seed", "Restarts",
		"Time to Ready", "Not Ready"}}
	for _, r := range rows {
		t.Row(r.cells...)
	}
	nav.Table(t)
}

func newRow(outcome report.Outcome, scenario, kubernetes, failed string) row {
	mark, style := outcome.Mark()
	return row{outcome: outcome, cells: []document.Cell{{Text: mark, Style: style}, {Text: scenario},
		{Text: kubernetes}, {Text: failed}}}
}

// runRow returns the line about a run, with a link to its section or the command that shows it.
func runRow(c *report.Case, r *report.Run) row {
	failed := named(report.FailedOf(r.Expectations))
	if r.Err != nil {
		failed = r.Err.Error()
	}
	if r.ID == "" {
		failed = strings.TrimSpace(failed + " " + r.Replay + " -o html")
	}
	x := newRow(r.Outcome(), r.Scenario, r.Kubernetes, failed)
	x.of, x.run, x.cells[1].Link = c, r, r.Link()
	seed := ""
	if r.Seed != nil {
		seed = strconv.FormatInt(*r.Seed, 10)
	}
	for _, text := range []string{seed, strconv.Itoa(r.Restarts), summary.Span(r.Total.ToReady),
		report.Unready(r.Total)} {
		x.cells = append(x.cells, document.Cell{Text: text})
	}
	return x
}

// named names the first of some expectations.
func named(list []report.Expectation) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0].Name
	}
	return fmt.Sprintf("%s and %d more", list[0].Name, len(list)-1)
}
