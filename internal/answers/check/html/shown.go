package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/answers/check/witness"
	pages "probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
)

// shown says how a number of a row comes about: its formula, and the command that finds a run which
// shows it, or the timeline of that run.
type shown struct {
	ID      string
	Title   string // the row and its end: "survives a stall of up to: always"
	Formula string
	Command string
	Says    string // what happens in the run
	Body    template.HTML
}

// addShown adds the formulas of the container to its section, with the runs that were found, and
// links to them to the rows of its chart.
func (s *section) addShown(r *check.Report, runs []*witness.Witness) error {
	if s.Container == nil || s.Chart == nil {
		return nil
	}
	add := func(x *row, end int, title, formula, name string) error {
		if formula == "" {
			return nil
		}
		one := shown{ID: fmt.Sprintf("%sr%d", s.ID, len(s.Shown)+1), Title: arrows(title), Formula: formula}
		for _, run := range runs {
			if run.Name != name {
				continue
			}
			var b strings.Builder
			if err := pages.Timeline(&b, &report.Run{Kubernetes: run.Profile.Version, Until: run.Until,
				Records: run.Records}); err != nil {
				return err
			}
			one.Says, one.Body = says(run), template.HTML(b.String())
		}
		if one.Body == "" && name != "" {
			one.Command = render.WitnessCommand(s.Workload.File, "", r.Delays, name)
		}
		s.Shown = append(s.Shown, one)
		x.Links[end] = one.ID
		return nil
	}
	for i := range s.Container.Limits {
		l := &s.Container.Limits[i]
		if err := add(&s.Chart.Limits[i], 0, l.Text+": always", l.Formula, l.Witness); err != nil {
			return err
		}
	}
	for i := range s.Container.Times {
		t := &s.Container.Times[i]
		if err := add(&s.Chart.Times[i], 2, t.Text+": worst", t.Formula, t.Witness); err != nil {
			return err
		}
	}
	return nil
}

// says tells what happens in a run.
func says(run *witness.Witness) string {
	text := run.Profile.Version
	if run.Case != "" {
		text = run.Case + ", " + text
	}
	outcome := run.Happens + " at " + check.Clock(check.Seconds(run.Outcome.Offset()))
	if run.Row.IsLimit() {
		return fmt.Sprintf("The closest run that was found, %s: up to %s goes well here. In this run the event does "+
			"not end, so %s.", text, check.FormatDown(check.Seconds(run.Value)), outcome)
	}
	return fmt.Sprintf("The closest run that was found, %s: %s, after %s.", text, outcome,
		check.FormatUp(check.Seconds(run.Value)))
}

// HasRuns reports whether the section has the timeline of a run.
func (s *section) HasRuns() bool {
	return slices.ContainsFunc(s.Shown, func(one shown) bool { return one.Body != "" })
}
