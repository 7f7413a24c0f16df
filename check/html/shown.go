package html

import (
	"fmt"
	"html/template"
	"strings"

	"probesim.dev/check"
	"probesim.dev/report"
	pages "probesim.dev/report/html"
)

// shown is the timeline of a run that has the least or the greatest value of a row, or comes close to it.
type shown struct {
	ID    string
	Title string // the row and its end: "survives a stall of up to: always"
	Says  string // what happens in the run
	Body  template.HTML
}

// maxShown limits the timelines of a page, in bytes. Runs after it have no timeline.
const maxShown = 16 << 20

// addRuns adds the runs of the container to its section, and links to them to the rows of its chart. left is how many bytes the timelines
// may still have.
func (s *section) addRuns(left *int) error {
	if s.Container == nil || s.Chart == nil {
		return nil
	}
	for i := range s.Container.Runs {
		run := &s.Container.Runs[i]
		x := shown{ID: fmt.Sprintf("%sr%d", s.ID, i+1), Title: arrows(run.Text) + ": " + endOf(run), Says: says(run)}
		if *left > 0 {
			var b strings.Builder
			if err := pages.Timeline(&b, &report.Run{Kubernetes: run.Kubernetes, Until: run.Until, Records: run.Records}); err != nil {
				return err
			}
			*left -= b.Len()
			x.Body = template.HTML(b.String())
		}
		s.Runs = append(s.Runs, x)
		s.Chart.link(run, x.ID)
	}
	return nil
}

// link makes the number at the end of a row a link to its run.
func (p *chart) link(run *check.Run, id string) {
	end := 0
	if run.Greatest {
		end = 2
	}
	for _, rows := range [][]row{p.Limits, p.Times} {
		for i := range rows {
			if rows[i].id == run.Row {
				rows[i].Links[end] = id
			}
		}
	}
}

// endOf names an end of a row, as the head of the table does.
func endOf(run *check.Run) string {
	switch limit := run.Row.IsLimit(); {
	case limit && run.Greatest:
		return "never"
	case limit:
		return "always"
	case run.Greatest:
		return "worst"
	}
	return "best"
}

// says tells what happens in a run.
func says(run *check.Run) string {
	text := run.Kubernetes
	if run.Case != "" {
		text = run.Case + ", " + text
	}
	if run.Derived {
		text += ", the closest run to the derived figure"
	}
	outcome := run.Happens + " at " + check.Clock(check.Seconds(run.Outcome.Offset()))
	if run.Row.IsLimit() {
		return fmt.Sprintf("%s: up to %s goes well here. In this run the event does not end, so %s.", text, down(run.Value), outcome)
	}
	return fmt.Sprintf("%s: %s, after %s.", text, outcome, up(run.Value))
}
