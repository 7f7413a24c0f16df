package compare

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/value"
)

// Document returns the report. Containers without a change are in a line at the end, unless there
// is only one container.
func Document(r *Report) *document.Document {
	d := document.New(r.Headline())
	d.Headline, d.Facts = true, fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays)
	if r.Before != "" {
		d.Section(document.Section{Page: true}).Text(document.Dim, "before: "+r.Before+", after: "+r.After)
	}
	containers := 0
	for range r.containers() {
		containers++
	}
	var same []string
	for i := range r.Workloads {
		w := &r.Workloads[i]
		d.Gap()
		for _, line := range w.Pairings() {
			d.Text(document.Plain, line)
		}
		for k := range w.Containers {
			if c := &w.Containers[k]; containers > 1 && !c.Changed() {
				same = append(same, w.HeadingOf(c))
			} else {
				c.addTo(d.Section(document.Section{Title: w.HeadingOf(c)}), w)
			}
		}
		if len(w.Containers) == 0 {
			d.Section(document.Section{Title: w.Heading()}).Text(document.Dim, "No container has probes.")
		}
		for _, problem := range w.Problems {
			d.Text(document.Bad, w.Title()+" was not checked "+problem)
		}
		if len(w.Requirements) > 0 {
			render.Requirements(&d.Section(document.Section{Title: "Requirements of " + w.Title()}).Body,
				w.Requirements)
		}
	}
	d.Gap()
	if len(same) > 0 {
		d.Text(document.Dim, "No change: "+strings.Join(same, "; "))
	}
	for i := range r.Scenarios {
		r.Scenarios[i].addTo(d)
	}
	return d
}

// Headline is the summary of the report for people: how much got better and worse.
func (r *Report) Headline() string {
	n := r.count()
	text := fmt.Sprintf("%d better, %d worse", n.rows[Better], n.rows[Worse])
	if n.lost > 0 {
		text = fmt.Sprintf("%s lost, ", printable.Count(n.lost, "probe")) + text
	}
	runs := map[Change]int{}
	for _, s := range r.Scenarios {
		for i := range s.Numbers {
			runs[s.Numbers[i].Judge()]++
		}
	}
	if len(r.Scenarios) > 0 {
		text += fmt.Sprintf("; in runs %d better, %d worse", runs[Better], runs[Worse])
	}
	if n.replaced > 0 {
		text += fmt.Sprintf(", %s replaced", printable.Count(n.replaced, "container"))
	}
	if n := len(r.Excluded); n > 0 {
		text += fmt.Sprintf(", %s excluded", printable.Count(n, "file"))
	}
	return text
}

// Title is the name of a workload for people.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// Heading is the name of a workload, and says whether it is added, removed, or had another name or
// kind.
func (w *Workload) Heading() string {
	was := w.RenamedFrom
	if w.KindBefore != "" {
		was = w.was
	}
	return w.Title() + heading(w.Change, was, w.Paired)
}

// HeadingOf is the name of a container and of its workload, and says whether they are added,
// removed, or had another name or kind.
func (w *Workload) HeadingOf(c *Container) string {
	name := w.Title()
	if w.Change == Same { // the container says the rest
		name = w.Heading()
	}
	return fmt.Sprintf("%s, container %s%s", name, c.Name, heading(c.Change, c.RenamedFrom, c.Paired))
}

func heading(change Change, was string, p *Pairing) string {
	switch {
	case change == Added || change == Removed:
		return " (" + string(change) + ")"
	case was == "":
		return ""
	case p != nil && p.By == LastLeft:
		return " (compared with " + was + ")"
	}
	return " (was " + was + ")"
}

// Pairings says which things with different names or kinds are compared, and why: the workload with
// one before the change, and its containers. A wrong pair must not look like a fact.
func (w *Workload) Pairings() (lines []string) {
	if p := w.Paired; p != nil {
		lines = append(lines, fmt.Sprintf("%s is compared with %s%s", w.Title(), w.was,
			p.because("neither manifest has another workload left")))
	}
	for _, c := range w.Containers {
		if c.Paired != nil {
			because := c.Paired.because("neither pod has another container")
			lines = append(lines, fmt.Sprintf("Container %s of %s is compared with container %s%s", c.Name, w.Title(),
				c.RenamedFrom, because))
		}
	}
	return lines
}

// because ends a sentence with the reason of a pairing.
func (p *Pairing) because(lastLeft string) string {
	switch p.By {
	case ByName:
		return ", because they have the same name."
	case LastLeft:
		return " only because " + lastLeft + ". They may have nothing in common."
	}
	return ", because both have the " + printable.Plural(len(p.Images), "image") + " " + printable.And(p.Images) + "."
}

// remark says what the table of a container does not, and whether this is worse. It returns an
// empty string if there is nothing to say.
func (w *Workload) remark(c *Container) (text string, worse bool) {
	switch {
	case len(c.Lost) > 0 && w.unsettled:
		return "Worse: the manifest no longer has this " + w.Kind + ". If a new workload takes its place, compare " +
			"does not know which one.", true
	case len(c.Lost) > 0 && w.Change == Removed:
		return "Worse: the manifest no longer has this " + w.Kind + ".", true
	case len(c.Lost) > 0:
		return "Worse: the container loses its " + printable.And(c.Lost) + " " +
			printable.Plural(len(c.Lost), "probe") + ".", true
	case c.Replaced:
		return "Worse: the pod has another new container instead, and no limit or time of this one is left to compare.",
			true
	case c.Change == Removed && w.Change == Removed:
		return "Not worse: the manifest no longer has this " + w.Kind + ".", false
	case c.Change == Removed:
		return "Not worse: the pod no longer has this container.", false
	}
	return "", false
}

var styles = map[Change]document.Style{Better: document.Good, Worse: document.Bad, Same: document.Dim}

func (c *Container) addTo(s *document.Section, w *Workload) {
	if !c.Changed() {
		s.Text(document.Dim, "No change.")
		return
	}
	remark, worse := w.remark(c)
	s.Text(map[bool]document.Style{true: document.Bad, false: document.Dim}[worse], remark)
	s.Code("diff", strings.Join(c.ChangedProbes(), "\n"))
	s.Table(c.table("always", true))
	s.Table(c.table("at worst", false))
	s.Gap()
	finding := func(mark string, style document.Style, list []check.Finding) {
		for _, f := range list {
			s.Item(document.Item{Mark: mark, Style: style, Text: string(f.Severity),
				Where: fmt.Sprintf("%s:%d", f.File, f.Line), Notes: []string{f.Message}})
		}
	}
	finding("new", document.Bad, c.Appeared)
	if len(c.Lost) == 0 { // without the probe that has them, they are no progress
		finding("gone", document.Good, c.Disappeared)
	}
}

// ChangedProbes describes the probes that differ: "- " before, "+ " after.
func (c *Container) ChangedProbes() (lines []string) {
	for _, kind := range []string{"startup", "liveness", "readiness"} {
		of := func(mark string, list []check.Probe) string {
			i := slices.IndexFunc(list, func(p check.Probe) bool { return p.Type == kind })
			if i < 0 {
				return ""
			}
			return fmt.Sprintf("%s%-9s  %s", mark, kind, printable.Text(list[i].Text))
		}
		if of("", c.Before) != of("", c.After) {
			lines = append(lines, of("- ", c.Before), of("+ ", c.After))
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// table returns the table of the limits or of the times, without the rows that a container loses
// with a probe. Its bars are before and after.
func (c *Container) table(head string, limits bool) *document.Table {
	rows := slices.DeleteFunc(slices.Clone(c.Rows),
		func(r Row) bool { return r.Limit != limits || len(c.Lost) > 0 && r.Change == Removed })
	t := &document.Table{Left: 1, Head: []string{head, "", "before", "after", ""}}
	t.Legend = []document.Bar{{Class: "before", Title: "before"}, {Class: "after", Title: "after"},
		{Class: "rest", Title: "depends on timing"}}
	end := value.Seconds(1)
	for _, r := range rows {
		for _, x := range []*value.Interval{r.Before, r.After} {
			if x != nil {
				end = max(end, finite(value.Seconds(x.Min)), finite(value.Seconds(x.Max)))
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		before, after := r.Guaranteed()
		t.Row(document.Cell{Text: r.Text}, document.Cell{Bars: r.bars(float64(end))},
			document.Cell{Text: r.Format(before)}, document.Cell{Text: r.Format(after)},
			document.Cell{Text: r.Difference(), Style: styles[r.Change]})
	}
	return t
}

// bars returns the bars of a row on an axis up to an end.
func (r *Row) bars(end float64) (bars []document.Bar) {
	for track, x := range []*value.Interval{r.Before, r.After} {
		if x == nil {
			continue
		}
		class := []string{"before", "after"}[track]
		if value.Seconds(x.Min).IsNever() && !value.Seconds(x.Max).IsNever() { // the best of Ready is not known
			x = &value.Interval{Max: x.Max}
		}
		least, greatest := float64(x.Min)/end, float64(x.Max)/end
		if r.Limit {
			bars = append(bars, document.Bar{Class: class, To: least, Track: track},
				document.Bar{Class: "rest", From: least, To: greatest, Track: track})
		} else {
			bars = append(bars, document.Bar{Class: class, From: least, To: greatest, Track: track})
		}
	}
	return bars
}

func finite(s value.Seconds) value.Seconds {
	if s.IsNever() {
		return 0
	}
	return s
}

// Format formats a guaranteed value of a row.
func (r *Row) Format(s *value.Seconds) string {
	if s == nil {
		return "-"
	}
	return r.Row.Format(*s)
}

// Difference says how a row differs: "+15.0s better". It is empty if the row is the same.
func (r *Row) Difference() string {
	before, after := r.Guaranteed()
	if r.Change == Same {
		return ""
	}
	text := string(r.Change)
	if before == nil || after == nil || before.IsNever() || after.IsNever() {
		return text
	}
	return check.FormatDifference(*before, *after) + " " + text
}

// Findings returns what gets worse: probes and figures that a container loses or that are worse,
// findings that appear, and requirements that are not met after the change.
func Findings(r *Report) *findings.List {
	list := &findings.List{Command: "probesim compare", Rules: []findings.Rule{
		{ID: "worse", Text: "A container gets worse.",
			Help: "The message has the figures before and after the change."},
		{ID: "appeared", Text: "The change adds a finding.", Help: "'probesim check' explains it."}, findings.Unmet,
	}}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for k := range w.Containers {
			list.Cases = append(list.Cases, w.judged(&w.Containers[k]))
		}
		for _, problem := range w.Problems {
			list.Cases = append(list.Cases,
				findings.Case{Name: w.Title(), File: w.file, Line: w.line, Problem: problem})
		}
		render.Require(list, w.Title(), w.Requirements)
	}
	return list
}

func (w *Workload) judged(c *Container) findings.Case {
	one := findings.Case{Name: w.HeadingOf(c), File: w.file, Line: w.line}
	var worse []string
	if text, is := w.remark(c); is {
		worse = append(worse, text)
	}
	for i := range c.Rows {
		if row := &c.Rows[i]; row.Change == Worse {
			before, after := row.Guaranteed()
			worse = append(worse, fmt.Sprintf("%s: %s, before %s", row.Text, row.Format(after), row.Format(before)))
		}
	}
	if len(worse) > 0 {
		one.Add("worse", findings.Warning, strings.Join(worse, "\n"), true)
	}
	for _, f := range c.Appeared {
		one.Findings = append(one.Findings, findings.Finding{Rule: "appeared", Level: findings.Level(f.Severity),
			File: f.File, Line: f.Line, Column: f.Column, Title: one.Name + ": " + string(f.ID), Message: f.Text(),
			Fails: true})
	}
	return one
}
