// Package render builds the reports of rollouts for people and for programs.
package render

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
)

// Document returns the report: the verdict of each workload first. A workload with its worst run
// has a picture of it on a page.
func Document(r *rollout.Report) *document.Document {
	d := document.New(fmt.Sprintf("Rollouts of %d Deployments", len(r.Workloads)))
	switch len(r.Workloads) {
	case 0:
		d.Text(document.Plain, "No Deployment has changed, and none is rolled out.")
	case 1:
	default:
		summary(d, r)
	}
	for i := range r.Workloads {
		if i < rollout.Detailed || r.Details {
			workload(d, r, &r.Workloads[i])
		}
	}
	d.Gap()
	for _, text := range About(r) {
		d.Text(document.Dim, text)
	}
	return d
}

// summary adds a table with a line for each workload, the worst ones first, and a line for each
// change that is long or helps several.
func summary(d *document.Document, r *rollout.Report) {
	bad, lose, known := 0, 0, 0
	changes, apart := map[string]int{}, []string(nil)
	for i := range r.Workloads {
		change := theChange(&r.Workloads[i])
		if changes[change]++; change != "" && (changes[change] == 3 || len(change) > 40) &&
			!slices.Contains(apart, change) {
			apart = append(apart, change)
		}
	}
	table := &document.Table{Left: 6, Head: []string{"", "verdict", "lost", "takes", "runs", "change"}}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		verdict := verdicts[w.Verdict]
		lost, takes := "", ""
		if w.Bad() {
			bad++
		} else {
			verdict.style = document.Good
		}
		for _, row := range w.Rows {
			switch row.Row {
			case rollout.RowTakes:
				takes = rollout.Format(row.Row, row.Greatest)
			case rollout.RowLost:
				lost = rollout.Count(row.Greatest)
			}
		}
		if len(w.Waits) > 0 && w.Verdict == rollout.Loses {
			verdict.badge += ", may wait"
		}
		if w.Known != "" {
			known++
			verdict.badge += ", known"
		} else if w.Verdict == rollout.Loses {
			lose++
		}
		change := theChange(w)
		if i := slices.Index(apart, change); i >= 0 {
			change = fmt.Sprintf("(%d)", i+1)
		}
		table.Row(document.Cell{Text: strings.TrimPrefix(w.Title(), "Deployment ")},
			document.Cell{Text: verdict.badge, Style: verdict.style}, document.Cell{Text: lost},
			document.Cell{Text: takes}, document.Cell{Text: fmt.Sprint(w.Runs)}, document.Cell{Text: change})
	}
	what := "lose requests"
	if bad != lose {
		what += ", do not complete, or miss a requirement"
	}
	if known > 0 {
		what += fmt.Sprintf(", and %d are known", known)
	}
	s := d.Section(document.Section{Title: fmt.Sprintf("%d of %d Deployments %s", bad, len(r.Workloads), what),
		Facts: facts(&r.Setting, routers(r))})
	s.Table(table)
	for i, change := range apart {
		s.Text(document.Plain,
			fmt.Sprintf("(%d) %s, in %s", i+1, change, printable.Count(changes[change], "Deployment")))
	}
	if hidden := len(r.Workloads) - rollout.Detailed; hidden > 0 && !r.Details {
		s.Text(document.Dim, fmt.Sprintf("Details of the worst %d follow; with --details, those of all.",
			rollout.Detailed))
	}
}

// theChange names the change that helps most, in a few words.
func theChange(w *rollout.Workload) string {
	switch {
	case len(w.Waits) > 0 && w.Verdict == rollout.LosesNone:
		return "see what new pods wait for"
	case strings.HasPrefix(w.Fix, "add a startup probe"):
		return "a startup probe"
	case w.Fix != "":
		text, _, _ := strings.Cut(w.Fix, ", ")
		return text
	case len(w.Fixes) == 0:
		return ""
	}
	text := sleepOf.ReplaceAllString(w.Fixes[0].Change, "preStop sleep ${1}s")
	return strings.ReplaceAll(text, "terminationGracePeriodSeconds:", "grace period")
}

var sleepOf = regexp.MustCompile(`preStop: \{sleep: \{seconds: (\d+)\}\}`)

// verdicts are the badges of the verdicts.
var verdicts = map[rollout.Verdict]struct {
	badge string
	style document.Style
}{
	rollout.LosesNone: {"ok", document.Good}, rollout.Loses: {"loses", document.Warn},
	rollout.MissesDeadline: {"late", document.Bad},
	rollout.NeverCompletes: {"stuck", document.Bad}, rollout.NeverReady: {"stuck", document.Bad},
}

// section adds the section of a Deployment. The title of the only one is the title of the page.
func section(d *document.Document, workloads int, s document.Section) *document.Section {
	if workloads == 1 {
		d.Title = s.Title
	}
	return d.Section(s)
}

func workload(d *document.Document, r *rollout.Report, w *rollout.Workload) {
	verdict := verdicts[w.Verdict]
	s := section(d, len(r.Workloads), document.Section{Title: w.Title() + ": " + Headline(r, w),
		Facts: facts(&r.Setting, w.Router.Name), Badge: verdict.badge, Style: verdict.style})
	s.Note(document.Dim, Settings(r, w))
	if verdict.style == document.Good {
		verdict.style = document.Warn
	}
	s.Note(verdict.style, w.Reason)
	s.Label("Known:", w.Known)
	s.Label("Fix:", w.Fix)
	if len(w.NotSimulated) > 0 {
		s.Note(document.Warn, "Not simulated: "+strings.Join(w.NotSimulated, "; ")+".")
	}
	if run := w.Worst.Run; run != nil {
		picture(d, s, run, r.Kubernetes, fmt.Sprintf("The worst of %s: %s.", Runs(w.Runs), Outcome(run)))
	}
	figures(s, w)
	losses(s, r, w)
	s.Gap()
	for _, f := range w.Fixes {
		style := document.Plain
		if f.LosesNone {
			style = document.Good
		}
		s.Item(document.Item{Mark: FixWord(&f), Style: style, Text: Fix(&f),
			Where: fmt.Sprintf("%s:%d", w.File, f.Line)})
	}
	if w.Verdict != rollout.LosesNone && w.Worst.Command != "" {
		s.Item(document.Item{Mark: "show", Command: w.Worst.Command})
	}
	s.Gap()
	for _, v := range w.Requirements {
		requirement(s, v.Met, Requirement(&v))
	}
	if len(w.Containers) > 0 {
		s.Text(document.Dim, "'probesim check' judges "+strings.Join(w.Containers, ", ")+".")
	}
}

func facts(s *rollout.Setting, router string) string {
	return "Kubernetes " + s.Kubernetes + ", " + Nodes(s.Delays) + ", " + router
}

// routers names the routers of all workloads.
func routers(r *rollout.Report) string {
	var names []string
	for i := range r.Workloads {
		if name := r.Workloads[i].Router.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return printable.Few(names)
}

func requirement(s *document.Section, met bool, text string) {
	mark, style := document.Mark(met)
	s.Item(document.Item{Mark: mark, Style: style, Text: text})
}

func figures(s *document.Section, w *rollout.Workload) {
	table := &document.Table{Left: 1, Head: []string{Runs(w.Runs), "", "least", "median", "95%", "greatest", "always"}}
	for _, row := range Rows(w) {
		most := row.Greatest
		if row.Always != nil {
			most = max(most, *row.Always)
		}
		var bars []document.Bar
		if most > 0 {
			bars = []document.Bar{{Class: "span", From: row.Least / most, To: row.Greatest / most},
				{Class: "mean", From: row.Median / most, Title: "median"}}
		}
		cells := []document.Cell{{Text: row.Text}, {}}
		for _, v := range []float64{row.Least, row.Median, row.P95, row.Greatest} {
			cells = append(cells, document.Cell{Text: rollout.Format(row.Row, v)})
		}
		if row.Always != nil {
			cells = append(cells, document.Cell{Text: rollout.Format(row.Row, *row.Always), Style: document.Good})
			bars = append(bars, document.Bar{Class: "rule", From: *row.Always / max(most, 1), Title: "always"})
		}
		cells[1].Bars = bars
		table.Row(cells...)
	}
	s.Table(table)
}

func losses(s *document.Section, r *rollout.Report, w *rollout.Workload) {
	if w.Lost == nil {
		return
	}
	for _, p := range w.Lost.Parts {
		s.Item(document.Item{Mark: fmt.Sprintf("%8s", rollout.Count(p.Count)), Text: Part(w, &p)})
	}
	if len(w.Lost.Parts) > 0 && w.Lost.WaitedForSync {
		s.Item(document.Item{Text: Waited(r, w)})
	}
}

// before is how much of a run is drawn before the change.
const before = 5 * time.Second

// Drawn returns a run for a timeline. It begins shortly before the change.
func Drawn(s *rollout.Shown, kubernetes string) *report.Run {
	return &report.Run{
		Scenario: s.Title, Kubernetes: kubernetes, Seed: &s.Seed, Until: s.End, From: s.From(before),
		Records:  s.Records,
		Restarts: report.CountRestarts(s.Records), Why: why.New(s.Records, s.Pods, s.End),
	}
}

// Race explains a loss of a run: that with a number, or the greatest since the change if it is 0.
// It reports false if there is none.
func Race(s *rollout.Shown, run *report.Run, number int) (why.Race, bool) {
	if number == 0 {
		number = run.Why.GreatestLoss(s.Change)
	}
	return run.Why.Lost(number)
}

// Shown returns a run as a timeline, and the explanation of one of its losses, as Race does.
func Shown(s *rollout.Shown, kubernetes string, number int) (*document.Document, error) {
	run := Drawn(s, kubernetes)
	d := document.New(s.Title + ": " + Outcome(s))
	d.Facts, d.Headline = fmt.Sprintf("Kubernetes %s, seed %d", kubernetes, s.Seed), true
	d.Gap()
	d.Picture(document.Picture{Text: func(w io.Writer, o document.Options) error {
		return report.Timeline(w, run, o)
	}})
	race, found := Race(s, run, number)
	if found {
		d.Gap()
		report.AddRace(&d.Body, &race)
	} else if number != 0 {
		return d, fmt.Errorf("there is no loss %d: the run of %s has %d", number, s.Title, run.Why.Losses())
	}
	return d, nil
}

// picture adds the picture of a run to the section of a page, and the race behind its greatest
// loss.
func picture(d *document.Document, b *document.Section, s *rollout.Shown, kubernetes, caption string) {
	d.Script = html.ChartScript()
	run := Drawn(s, kubernetes)
	drawn := b.Section(document.Section{Page: true, Title: caption, Fold: true})
	drawn.Picture(html.Timeline(run))
	if race, found := Race(s, run, 0); found {
		report.AddRace(&drawn.Body, &race)
	}
}

// Outcome says what happens in a run.
func Outcome(s *rollout.Shown) string {
	switch {
	case s.Change == 0:
		return "not all pods become available before the change"
	case s.Took == 0:
		return "the rollout does not complete"
	}
	var lost []string
	for _, l := range s.Lost {
		if l.Lost < 0.0005 {
			continue
		}
		count := rollout.Count(l.Lost)
		text := count + " requests"
		if count == "1" || count == "<1" {
			text = count + " request"
		}
		if len(s.Lost) > 1 {
			text += " to Service " + l.Service
		}
		lost = append(lost, text)
	}
	if len(lost) == 0 {
		lost = []string{"no new connection"}
	}
	return fmt.Sprintf("the rollout loses %s, and takes %s", strings.Join(lost, " and "),
		rollout.Format(rollout.RowTakes, s.Took.Seconds()))
}

// Tuning returns the changes that meet requirements on rollouts. On a page, it has pictures of the
// worst runs before and with them.
func Tuning(r *rollout.Tuning) *document.Document {
	d := document.New(fmt.Sprintf("Rollouts of %d Deployments", len(r.Workloads)))
	for i := range r.Workloads {
		tuned(d, r, &r.Workloads[i])
	}
	d.Gap()
	d.Text(document.Dim, r.Program+" "+r.Requests.Covers)
	return d
}

func tuned(d *document.Document, r *rollout.Tuning, w *rollout.Tuned) {
	mark, style := document.Mark(w.Met)
	s := section(d, len(r.Workloads),
		document.Section{Title: w.Title(), Facts: facts(&r.Setting, w.Router.Name), Badge: mark, Style: style})
	headline := TunedHeadline(w)
	if !w.Met && len(w.Changes) > 0 {
		headline += " This one comes closest:"
	}
	s.Text(style, headline)
	for _, c := range w.Changes {
		s.Item(document.Item{Text: Change(&c), Where: fmt.Sprintf("%s:%d", w.File, c.Line)})
	}
	for _, q := range w.Requirements {
		requirement(s, q.After.Met, TunedRow(w, &q))
	}
	if takes := w.Takes; takes != nil && len(w.Changes) > 0 {
		before, after := rollout.Format(rollout.RowTakes, takes.Before), rollout.Format(rollout.RowTakes, takes.After)
		if before != after {
			s.Text(document.Plain, fmt.Sprintf("The rollout takes %s in the median, before %s.", after, before))
		}
	}
	s.Text(document.Plain, w.Note)
	for i, run := range w.Worst {
		when := "Before: the"
		if i > 0 {
			when = "With the changes: the"
		}
		picture(d, s, run, r.Kubernetes, fmt.Sprintf("%s worst run. In it, %s.", when, Outcome(run)))
	}
}

// TunedHeadline is the result in a sentence.
func TunedHeadline(w *rollout.Tuned) string {
	switch {
	case !w.Met && len(w.Changes) > 0:
		return "No change was found that meets the requirements."
	case !w.Met:
		return "No change was found that meets the requirements, or comes closer."
	case len(w.Changes) == 0:
		return "The requirements are met already."
	}
	return fmt.Sprintf("%d %s the requirements.", len(w.Changes),
		map[bool]string{true: "change meets", false: "changes meet"}[len(w.Changes) == 1])
}

// Change describes a change of a field.
func Change(c *rollout.FieldChange) string {
	return fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(c.Field, "spec.template.spec."), c.Before, c.After)
}

// TunedRow describes the result for a requirement before and after the changes.
func TunedRow(w *rollout.Tuned, q *rollout.TunedRow) string {
	text := q.Requirement + ": " + valueText(q.After)
	if q.After.Row != rollout.RowPreStop && q.After.Value != nil {
		text += fmt.Sprintf(" in the worst of %d runs", w.Runs)
	}
	if len(w.Changes) > 0 {
		text += ", before " + valueText(q.Before)
	}
	return text
}

// valueText is the value of a result for people.
func valueText(v *rollout.Verification) string {
	if v.Value == nil {
		return v.Reason
	}
	return rollout.Format(v.Row, *v.Value)
}
