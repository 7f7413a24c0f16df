package report

import (
	"bytes"
	"fmt"
	"io"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
)

// maxMarkdown limits a report in Markdown: GitHub rejects summaries of a step beyond 1 MiB.
const maxMarkdown = 900_000

// Markdown writes a report for GitHub: a table with the outcome of each case, and then, for each
// case that failed, has several runs or has a timeline, its expectations, statistics and timeline.
func Markdown(w io.Writer, cases []Case) error {
	head := document.New("probesim: " + Verdict(cases))
	head.Headline = true
	table := &document.Table{Left: 7, Head: []string{"outcome", "scenario", "Kubernetes", "runs",
		"restarts (max of a run)", "time to Ready (max)", "not Ready (max)"}}
	for i := range cases {
		table.Texts(cases[i].overview()...)
	}
	head.Table(table)
	var b, part bytes.Buffer
	if err := head.Write(&b, "markdown", document.Options{}); err != nil {
		return err
	}
	omitted := 0
	for i := range cases {
		var d document.Document
		cases[i].section(&d.Body)
		part.Reset()
		if err := d.Write(&part, "markdown", document.Options{}); err != nil {
			return err
		}
		switch {
		case part.Len() <= 1: // nothing
		case b.Len()+part.Len() > maxMarkdown:
			omitted++
		default:
			fmt.Fprintf(&b, "\n%s", &part)
		}
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "\nThe details of %s are omitted because of the size limit of job summaries.\n",
			Plural(omitted, "scenario"))
	}
	_, err := b.WriteTo(w)
	return err
}

var icons = map[Outcome]string{OK: "✅ ok", Failed: "❌ failed", Broken: "💥 error", Skipped: "skipped"}

// overview returns the cells of a case.
func (c *Case) overview() []string {
	if c.Err != nil {
		return []string{icons[Broken], c.File, "", "", "", "", "invalid scenario file"}
	}
	counts, worst := Plural(len(c.Runs), "run"), worstNumbers(c.Runs)
	if len(c.Runs) > 1 {
		counts += ": " + c.Counts()
	}
	if c.idle() {
		counts += ", " + nothing
	}
	cells := []string{icons[c.Outcome()], c.Scenario, c.Kubernetes, counts}
	if len(c.Runs) == 0 {
		return cells
	}
	return append(cells, fmt.Sprint(worst.Restarts), summary.Span(worst.ToReady), Unready(worst))
}

// Unready returns the time without Ready after the first Ready, of which a run that never was Ready
// has none.
func Unready(n summary.Numbers) string {
	if n.ToReady == summary.Never && n.Unready == 0 {
		return "never Ready"
	}
	return summary.Span(n.Unready)
}

// worstNumbers returns the greatest of each number of all runs.
func worstNumbers(runs []*Run) summary.Numbers {
	var n summary.Numbers
	for _, r := range runs {
		n.Restarts = max(n.Restarts, r.Total.Restarts)
		n.ToReady = max(n.ToReady, r.Total.ToReady)
		n.Unready = max(n.Unready, r.Total.Unready)
	}
	return n
}

// section adds the part about a case, if there is something to tell.
func (c *Case) section(b *document.Body) {
	title := c.Scenario + " " + c.Kubernetes
	r := c.Shown()
	switch {
	case c.Err != nil:
		b.Code("text", c.Err.Error())
		return
	case r == nil || c.Outcome() == OK && c.Statistics == nil && r.Output == "":
		return
	}
	s := b.Section(document.Section{Title: title})
	if len(c.Runs) > 1 {
		c.AddSummary(&s.Body)
	} else {
		AddNotes(&s.Body, r.Notes)
		c.broken(&s.Body)
		AddChecks(&s.Body, r.Expectations)
		c.command(&s.Body, "To repeat this run", r)
	}
	if r.Output == "" {
		return
	}
	if len(c.Runs) > 1 && r.Seed != nil {
		s.Text(document.Plain, fmt.Sprintf("The timeline of seed %d:", *r.Seed))
	}
	s.Code("text", r.Output)
}
