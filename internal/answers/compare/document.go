package compare

import (
	"cmp"
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
		scenario(d, &r.Scenarios[i])
	}
	return d
}

// Title is the name of a workload for people.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

var styles = map[Change]document.Style{Better: document.Good, Worse: document.Bad, Same: document.Dim}

func (c *Container) addTo(s *document.Section, w *Workload) {
	if !c.Changed() {
		s.Text(document.Dim, "No change.")
		return
	}
	for _, remark := range w.Remarks(c) {
		style := document.Dim
		if remark.Worse {
			style = document.Bad
		}
		s.Text(style, remark.String())
	}
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
	finding("gone", document.Good, c.gone())
}

// ChangedProbes describes the probes that differ: "- " before, "+ " after.
func (c *Container) ChangedProbes() []string {
	var lines []string
	for _, kind := range []string{"startup", "liveness", "readiness"} {
		of := func(list []check.Probe) string {
			for _, p := range list {
				if p.Type == kind {
					return fmt.Sprintf("%-9s  %s", kind, printable.Text(p.Text))
				}
			}
			return ""
		}
		before, after := of(c.Before), of(c.After)
		if before == after {
			continue
		}
		if before != "" {
			lines = append(lines, "- "+before)
		}
		if after != "" {
			lines = append(lines, "+ "+after)
		}
	}
	return lines
}

// gone returns the findings that a change ends. Without the probe that has them, they are no
// progress.
func (c *Container) gone() []check.Finding {
	if len(c.Lost) > 0 {
		return nil
	}
	return c.Disappeared
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
		var bars []document.Bar
		for track, x := range []*value.Interval{r.Before, r.After} {
			if x == nil {
				continue
			}
			class := []string{"before", "after"}[track]
			if value.Seconds(x.Min).IsNever() && !value.Seconds(x.Max).IsNever() { // the best of Ready is not known
				x = &value.Interval{Max: x.Max}
			}
			least, greatest := float64(x.Min)/float64(end), float64(x.Max)/float64(end)
			if limits {
				bars = append(bars, document.Bar{Class: class, To: least, Track: track},
					document.Bar{Class: "rest", From: least, To: greatest, Track: track})
			} else {
				bars = append(bars, document.Bar{Class: class, From: least, To: greatest, Track: track})
			}
		}
		before, after := r.Guaranteed()
		t.Row(document.Cell{Text: r.Text}, document.Cell{Bars: bars}, document.Cell{Text: r.Format(before)},
			document.Cell{Text: r.Format(after)},
			document.Cell{Text: r.Difference(), Style: styles[r.Change]})
	}
	return t
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

// Count counts the rows with a change.
func (r *Report) Count(change Change) (n int) {
	for _, c := range r.containers() {
		for _, row := range c.Rows {
			if row.Change == change && c.Change == Same {
				n++
			}
		}
	}
	return n
}

func scenario(d *document.Document, s *Scenario) {
	part := d.Section(document.Section{Title: fmt.Sprintf("Scenario %s, Kubernetes %s, %s", s.Name, s.Kubernetes,
		s.Of())})
	var table *document.Table
	pods := ""
	for i := range s.Numbers {
		p := &s.Numbers[i]
		if table == nil || p.Pods != pods {
			pods = p.Pods
			part.Text(document.Plain, pods)
			table = &document.Table{Left: 1,
				Head: []string{"", "before: median", "max", "after: median", "max", "better", "worse"}}
		}
		var cells []document.Cell
		for k, text := range p.Cells() {
			cell := document.Cell{Text: text}
			if k > 2 {
				cell.Style = styles[p.Judge()]
			}
			cells = append(cells, cell)
		}
		table.Row(cells...)
		if i+1 == len(s.Numbers) || s.Numbers[i+1].Pods != pods {
			part.Table(table)
		}
	}
	for _, line := range s.Extremes() {
		part.Note(document.Plain, line)
	}
}

// Extremes names the seeds with the greatest differences.
func (s *Scenario) Extremes() []string {
	var lines []string
	for i := range s.Numbers {
		p := &s.Numbers[i]
		var parts []string
		for _, d := range []*Difference{p.MostBetter, p.MostWorse} {
			if d != nil && s.Runs > 1 {
				parts = append(parts, d.String())
			}
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("%s, %s: greatest difference %s", p.Pods, p.Number.text(),
				strings.Join(parts, " and ")))
		}
	}
	return lines
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
		for k := range w.Requirements {
			v := &w.Requirements[k]
			list.Require(findings.Finding{File: v.File, Line: v.Line, Column: v.Column, Title: w.Title(),
				Message: render.Requirement(v), Command: render.RequirementCommand(v)}, v.Requirement, v.Met)
		}
	}
	return list
}

func (w *Workload) judged(c *Container) findings.Case {
	one := findings.Case{Name: w.HeadingOf(c), File: w.file, Line: w.line}
	var worse []string
	for _, remark := range w.Remarks(c) {
		if remark.Worse {
			worse = append(worse, remark.String())
		}
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
		one.Findings = append(one.Findings,
			findings.Finding{Rule: "appeared", Level: findings.Level(f.Severity), File: f.File, Line: f.Line,
				Column: f.Column,
				Title:  one.Name + ": " + string(f.ID), Message: f.Text(), Fails: true})
	}
	return one
}

// Headline is the summary of the report for people: how much got better and worse.
func (r *Report) Headline() string {
	text := fmt.Sprintf("%d better, %d worse", r.Count(Better), r.Count(Worse))
	if n := r.Lost(); n > 0 {
		text = fmt.Sprintf("%s lost, ", printable.Count(n, "probe")) + text
	}
	if better, worse := r.runs(); len(r.Scenarios) > 0 {
		text += fmt.Sprintf("; in runs %d better, %d worse", better, worse)
	}
	if n := r.Replaced(); n > 0 {
		text += fmt.Sprintf(", %s replaced", printable.Count(n, "container"))
	}
	if n := len(r.Excluded); n > 0 {
		text += fmt.Sprintf(", %s excluded", printable.Count(n, "file"))
	}
	return text
}

// runs counts the numbers of scenarios that got better and worse.
func (r *Report) runs() (better, worse int) {
	for i := range r.Scenarios {
		for k := range r.Scenarios[i].Numbers {
			switch r.Scenarios[i].Numbers[k].Judge() {
			case Better:
				better++
			case Worse:
				worse++
			}
		}
	}
	return better, worse
}

// Heading is the name of a workload, and says whether it is added, removed, or had another name or
// kind.
func (w *Workload) Heading() string {
	before := w.RenamedFrom
	if w.KindBefore != "" {
		before = w.titleBefore()
	}
	return w.Title() + heading(w.Change, before, w.Paired)
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

func heading(change Change, before string, p *Pairing) string {
	switch {
	case change == Added || change == Removed:
		return " (" + string(change) + ")"
	case p != nil && p.By == ByName:
		return " (was " + before + ")"
	case p != nil && p.By == LastLeft:
		return " (compared with " + before + ")"
	case before != "":
		return " (renamed from " + before + ")"
	}
	return ""
}

// titleBefore is the name of a workload before the change.
func (w *Workload) titleBefore() string {
	namespace, name := w.Namespace, cmp.Or(w.RenamedFrom, w.Name)
	if old, rest, other := strings.Cut(name, "/"); other {
		namespace, name = old, rest
	}
	return manifests.Title(cmp.Or(w.KindBefore, w.Kind), namespace, name)
}

// Pairings says which things with different names or kinds are compared, and why: the workload with
// one before the change, and its containers. A wrong pair must not look like a fact.
func (w *Workload) Pairings() []string {
	var lines []string
	if p := w.Paired; p != nil {
		lines = append(lines, fmt.Sprintf("%s is compared with %s%s", w.Title(), w.titleBefore(),
			p.because("neither manifest has another workload left")))
	}
	for i := range w.Containers {
		if c := &w.Containers[i]; c.Paired != nil {
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

// Remark says what the table of a container does not.
type Remark struct {
	Text  string
	Worse bool
}

// String says whether the remark makes the container worse, and why.
func (r *Remark) String() string {
	if r.Worse {
		return "Worse: " + r.Text
	}
	return "Not worse: " + r.Text
}

// Remarks returns the remarks about a container.
func (w *Workload) Remarks(c *Container) []*Remark {
	switch {
	case len(c.Lost) > 0 && w.Change == Removed:
		text := "the manifest no longer has this " + w.Kind + "."
		if w.unsettled {
			text += " If a new workload takes its place, compare does not know which one."
		}
		return []*Remark{{text, true}}
	case len(c.Lost) > 0:
		probes := printable.And(c.Lost) + " " + printable.Plural(len(c.Lost), "probe")
		return []*Remark{{"the container loses its " + probes + ".", true}}
	case c.Replaced:
		return []*Remark{{"the pod has another new container instead, and no limit or time of this one is left to " +
			"compare.", true}}
	case c.Change == Removed && w.Change == Removed:
		return []*Remark{{"the manifest no longer has this " + w.Kind + ".", false}}
	case c.Change == Removed:
		return []*Remark{{"the pod no longer has this container.", false}}
	}
	return nil
}
