package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// Document returns the report: the verdict, and then tables. Text has the tables of the containers
// that the verdict is about, and with details those of all containers.
func Document(r *check.Report) *document.Document {
	d := document.New(Headline(r))
	d.Headline, d.Facts = len(r.Workloads) > 0, fmt.Sprintf("Kubernetes %s, %s nodes",
		strings.Join(r.Kubernetes, ", "), r.Delays)
	if len(r.Verdict.Findings) > 0 {
		d.More = []string{"--explain ID for a finding", "-o html for a page"}
	}
	if len(r.Workloads) > 0 {
		verdict(&d.Body, r)
	}
	for i := range r.Workloads {
		workload(d, r, &r.Workloads[i])
	}
	others(d, r)
	d.Text(document.Dim, askStart(r))
	return d
}

// askStart asks how long the programs of a single workload take to start, if nobody has said it and
// a probe can stop a start.
func askStart(r *check.Report) string {
	if len(r.Workloads) != 1 {
		return ""
	}
	list := r.Workloads[0].Containers
	known := func(c check.Container) bool { return c.Start != nil }
	if slices.ContainsFunc(list, known) ||
		!slices.ContainsFunc(list, func(c check.Container) bool { return c.Kill != nil }) {
		return ""
	}
	return "Say how long a start takes, as in --start 40s..70s: check then counts the starts that are killed."
}

// others names the objects that are not checked.
func others(d *document.Document, r *check.Report) {
	d.Gap()
	var rest []manifests.Unchecked
	for i := range r.Others {
		o := &r.Others[i]
		if o.Template == "" {
			rest = append(rest, manifests.Unchecked{Kind: o.Kind})
			continue
		}
		d.Text(document.Warn, fmt.Sprintf("%s:%d: %s", o.File, o.Line, NotChecked(o)))
	}
	if len(rest) > 0 {
		d.Text(document.Dim, "Not checked: "+printable.Some(manifests.KindsOf(rest), 10))
	}
}

// NotChecked says that an object with a pod template is not checked.
func NotChecked(o *check.Other) string {
	return fmt.Sprintf("%s %s is not checked: its pod template is in %s, which check does not read.", o.Kind, o.Name,
		o.Template)
}

var styles = map[check.Severity]document.Style{check.Error: document.Bad, check.Warning: document.Warn,
	check.Note: document.Dim}

// verdict adds what is at the top.
func verdict(b *document.Body, r *check.Report) {
	for _, line := range slices.Concat(Unready(r), Measured(r)) {
		b.Text(document.Plain, line)
	}
	if names := passedOver(r); len(names) > 0 {
		const about = "--start, --stop and --require without a name are not about sidecars: "
		b.Text(document.Dim, about+printable.Some(names, 5))
	}
	for _, w := range r.Workloads {
		if w.Problem != "" {
			b.Text(document.Bad, w.Title()+" was not checked: "+w.Problem)
		}
	}
	if len(r.Workloads) == 1 {
		one(b, r, &r.Workloads[0])
		return
	}
	for _, m := range Missed(r) {
		b.Item(document.Item{Mark: "FAIL", Style: document.Bad, Text: m.Name + ": " + m.Text})
	}
	for _, f := range notSimulated(r) {
		b.Text(document.Dim, "not simulated: "+f.Name+" ("+f.Text+")")
	}
	first, others := worth(r)
	if len(first) > 0 {
		changes := b.Section(document.Section{Title: "Worth changing first"})
		for i, g := range first {
			x := document.Item{Mark: fmt.Sprintf("%d.", i+1), Style: styles[g.Severity],
				Text: printable.Some(g.Names(), 4) + ": " + g.Summary, Where: where(&g)}
			if g.Fix != "" {
				x.Notes = append([]string{g.Fix}, g.Finding.Costs()...)
			}
			changes.Item(x)
		}
	}
	also(b, others)
}

// also adds a line for each severity and kind of the findings that are left.
func also(b *document.Body, list []check.Group) {
	if len(list) == 0 {
		return
	}
	table := document.Section{Title: "Also"}
	for len(list) > 0 {
		g := list[0]
		alike := func(o check.Group) bool { return o.ID == g.ID && o.Severity == g.Severity }
		var names []string
		several := false
		for _, o := range list {
			if alike(o) {
				names = append(names, o.Names()...)
				several = several || o.Summary != g.Summary
			}
		}
		list = slices.DeleteFunc(list, alike)
		slices.Sort(names)
		names = slices.Compact(names)
		text := printable.Some(names, 3) + ": " + g.Summary
		if several {
			text = printable.Some(names, 5)
		}
		table.Item(document.Item{Mark: fmt.Sprintf("%-7s  %s", g.Severity, g.ID), Style: styles[g.Severity],
			Text: text})
	}
	b.Section(table)
}

// one adds the findings and the requirements of the only workload.
func one(b *document.Body, r *check.Report, w *check.Workload) {
	if len(w.NotSimulated) > 0 {
		b.Text(document.Dim, "not simulated: "+strings.Join(w.NotSimulated, ", "))
	}
	for _, g := range r.Verdict.Findings {
		var names []string
		for _, p := range g.Containers {
			names = append(names, p.Container)
		}
		if len(w.Containers) == 1 {
			names = nil
		}
		finding(b, g.Finding, printable.Some(names, 4))
	}
	Requirements(b, w.Requirements)
	var fine []string
	for _, c := range w.Containers {
		if len(c.Findings) == 0 && c.HasProbes() && !shown(r, w, &c) {
			fine = append(fine, c.Name)
		}
	}
	if len(fine) > 0 {
		b.List()
		b.Item(document.Item{Mark: "ok     ", Style: document.Good, Text: strings.Join(fine, ", ")})
	}
	if len(w.WithoutProbes) > 0 && len(r.Verdict.NoProbes) == 0 && !has(w, check.NoProbes) {
		b.Text(document.Plain, "Without probes: "+strings.Join(w.WithoutProbes, ", "))
	}
}

// finding adds a finding of some containers.
func finding(b *document.Body, f *check.Finding, containers string) {
	x := document.Item{Mark: fmt.Sprintf("%-7s", f.Severity), Style: styles[f.Severity],
		Text:  strings.TrimRight(string(f.ID)+"  "+containers, " "),
		Where: fmt.Sprintf("%s:%d", f.File, f.Line), Notes: []string{f.Message}, Command: Command(f)}
	if f.Fix != "" {
		x.Notes = append(append(x.Notes, "Fix: "+f.Fix), f.Costs()...)
	}
	b.Item(x)
}

// Requirements adds whether requirements are met.
func Requirements(b *document.Body, list []check.Verification) {
	b.List()
	for i := range list {
		mark, style := document.Mark(list[i].Met)
		b.Item(document.Item{Mark: mark, Style: style, Text: Requirement(&list[i]),
			Command: RequirementCommand(&list[i])})
	}
}

// shown reports whether text has the tables of a container without details: those of the containers
// with findings, if there is only one workload. Notes about a sidecar, which comes from elsewhere,
// do not count.
func shown(r *check.Report, w *check.Workload, c *check.Container) bool {
	found := func(c check.Container) bool {
		return slices.ContainsFunc(c.Findings,
			func(f check.Finding) bool { return c.Sidecar == "" || f.Severity != check.Note })
	}
	return len(r.Workloads) == 1 && (found(*c) || !slices.ContainsFunc(w.Containers, found))
}

// workload adds the containers of a workload, the sidecars last.
func workload(d *document.Document, r *check.Report, w *check.Workload) {
	several := len(r.Workloads) > 1
	list := slices.Clone(w.Containers)
	slices.SortStableFunc(list, func(a, b check.Container) int {
		return cmp.Compare(min(1, len(a.Sidecar)), min(1, len(b.Sidecar)))
	})
	for i := range list {
		c := &list[i]
		unprobed := func(f check.Finding) bool { return f.ID == check.NoProbes }
		if several && !c.HasProbes() &&
			!slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return !unprobed(f) }) {
			continue // the verdict names it
		}
		s := document.Section{Badge: "ok", Style: document.Good, Details: !shown(r, w, c),
			Fold: several && len(c.Findings) == 0}
		if len(c.Findings) > 0 {
			worst := slices.MinFunc(c.Findings,
				func(a, b check.Finding) int { return cmp.Compare(styleRank(a), styleRank(b)) })
			s.Badge, s.Style = string(worst.Severity), styles[worst.Severity]
		}
		switch {
		case several:
			s.Title = title(r, w) + ", container " + c.Name
		case len(w.Containers) > 1:
			s.Title = "container " + c.Name
		}
		container(&s, r, w, c)
		if several {
			s.Gap()
			for k := range c.Findings {
				finding(&s.Body, &c.Findings[k], "")
			}
		}
		d.Section(s)
	}
	if several && len(w.Requirements) > 0 {
		s := d.Section(document.Section{Title: "Requirements of " + title(r, w), Details: true})
		Requirements(&s.Body, w.Requirements)
	}
	if len(w.Rollouts) > 0 {
		s := d.Section(document.Section{Details: true})
		s.Text(document.Dim, "'probesim rollout' judges "+strings.Join(w.Rollouts, ", ")+".")
	}
}

func styleRank(f check.Finding) int {
	return slices.Index([]check.Severity{check.Error, check.Warning, check.Note}, f.Severity)
}

// title returns the title of a workload, with its file if a workload of another file has the same
// title.
func title(r *check.Report, w *check.Workload) string {
	twice := slices.ContainsFunc(r.Workloads,
		func(other check.Workload) bool { return other.Title() == w.Title() && other.File != w.File })
	if twice {
		return w.Title() + " of " + w.File
	}
	return w.Title()
}

// container adds the probes and the tables of a container.
func container(s *document.Section, r *check.Report, w *check.Workload, c *check.Container) {
	probes := s.Section(document.Section{Details: true})
	probes.Text(document.Dim, NotAbout(r, w, c))
	for _, p := range c.Probes {
		probes.Item(document.Item{Mark: p.Type, Text: p.Text})
	}
	limits, times := tables(w, c)
	s.Table(limits)
	s.Table(times)
	s.List()
	for _, f := range Facts(c) {
		s.Item(document.Item{Mark: label(f.Name), Text: f.Text})
	}
	formulas := s.Section(document.Section{Title: "Formulas", Page: true, Closed: true})
	for _, l := range c.Limits {
		formula(formulas, l.Text+": always", l.Formula, l.Cases)
	}
	for _, t := range c.Times {
		formula(formulas, t.Text+": worst", t.Formula, t.Cases)
	}
}

// formula adds how the figure of a row comes about, and how it differs between cases and versions.
func formula(b *document.Section, name, formula string, ranges []check.Range) {
	if formula == "" {
		return
	}
	x := document.Item{Text: name, Notes: []string{formula}}
	if len(ranges) > 1 {
		for _, c := range ranges {
			text := strings.TrimLeft(c.Case+" ("+c.Kubernetes+"): ", " ")
			x.Notes = append(x.Notes, text+check.FormatDown(c.Least)+" to "+check.FormatUp(c.Greatest))
		}
	}
	b.Item(x)
}

// labelWidth aligns the columns of the tables of all containers.
const labelWidth = 42

func label(text string) string { return fmt.Sprintf("%-*s", labelWidth, text) }

// legend explains the bars.
var legend = []document.Bar{
	{Class: "always", Title: "always goes well"}, {Class: "between", Title: "depends on timing"},
	{Class: "never", Title: "never goes well"},
	{Class: "span", Title: "best to worst"}, {Class: "required", Title: "required"},
	{Class: "broken", Title: "required, not met"}, {Class: "known", Title: "known length of starts"},
}

// tables returns the tables of the limits and of the times of a container. Their bars have the same
// axis.
func tables(w *check.Workload, c *check.Container) (limits, times *document.Table) {
	a := newAxis(w, c)
	limits = &document.Table{Left: 1, Head: []string{"", "", "always", "never", youSay(c)}, Axis: a.labels()}
	for _, l := range c.Limits {
		never := check.FormatUp(l.Never)
		if l.Always.IsNever() && l.Never.IsNever() {
			never = ""
		}
		bars := []document.Bar{{Class: "always", To: a.at(l.Always)},
			{Class: "between", From: a.at(l.Always), To: a.at(l.Never)}, {Class: "never", From: a.at(l.Never), To: 1}}
		bars = slices.DeleteFunc(bars, func(b document.Bar) bool { return b.From >= b.To })
		bars = append(bars, a.required(w, c, l.Row, l.Always)...)
		said, style := said(c, &l)
		if said != "" && l.Row == check.Start {
			bars = append(bars, document.Bar{Class: "known", From: a.at(value.Seconds(c.Start.Min)),
				Title: "starts take at least " + check.Clock(c.Start.Min)},
				document.Bar{Class: "known", From: a.at(value.Seconds(c.Start.Max)),
					Title: "starts take at most " + check.Clock(c.Start.Max)})
		}
		row(limits, l.Text, bars, document.Cell{Text: check.FormatDown(l.Always)}, document.Cell{Text: never},
			document.Cell{Text: said, Style: style})
	}
	times = &document.Table{Left: 1, Head: []string{"", "", "best", "worst"}, Axis: a.labels()}
	for _, t := range c.Times {
		bars := a.required(w, c, t.Row, t.Worst)
		if !t.Best.IsNever() {
			bars = slices.Insert(bars, 0, document.Bar{Class: "span", From: a.at(t.Best), To: a.at(t.Worst)})
		}
		row(times, t.Text, bars, document.Cell{Text: best(&t)}, document.Cell{Text: check.FormatTime(t.Worst)})
	}
	return limits, times
}

// row adds a row, and the kinds of its bars to the legend.
func row(t *document.Table, text string, bars []document.Bar, cells ...document.Cell) {
	t.Row(append([]document.Cell{{Text: label(text)}, {Bars: bars}}, cells...)...)
	for _, kind := range legend {
		same := func(b document.Bar) bool { return b.Class == kind.Class }
		if slices.ContainsFunc(bars, same) && !slices.ContainsFunc(t.Legend, same) {
			t.Legend = append(t.Legend, kind)
		}
	}
}

// said is the known length of starts beside the limit of a start. A mark says that the limit is
// shorter.
func said(c *check.Container, l *check.Limit) (string, document.Style) {
	switch {
	case c.Start == nil || l.Row != check.Start && l.Row != check.Restart:
		return "", document.Plain
	case value.Seconds(c.Start.Max) > l.Always:
		return c.Start.String() + " !", document.Bad
	}
	return c.Start.String() + "  ", document.Plain
}

// axis is the axis of a container. It begins at 0.
type axis struct{ end, step value.Seconds }

// newAxis returns an axis on which all values of a container have room.
func newAxis(w *check.Workload, c *check.Container) axis {
	values := []value.Seconds{value.Seconds(time.Second)}
	for _, l := range c.Limits {
		values = append(values, l.Always, l.Never)
	}
	for _, t := range c.Times {
		values = append(values, t.Best, t.Worst)
	}
	for _, v := range w.Requirements {
		if slices.Contains(v.Containers, c.Name) {
			values = append(values, v.Required)
		}
	}
	if c.Start != nil {
		values = append(values, value.Seconds(c.Start.Max))
	}
	most := slices.Max(slices.DeleteFunc(values, value.Seconds.IsNever))
	most += most / 20 // what exceeds the largest limit is visible
	return axisTo(most)
}

// steps are the distances of labels that people read easily, in milliseconds.
var steps = []time.Duration{200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
	1_200_000, 1_800_000, 3_600_000}

// axisTo returns an axis with up to 6 steps, on which a value has room.
func axisTo(most value.Seconds) axis {
	for i := 0; ; i++ {
		step := steps[min(i, len(steps)-1)] * time.Millisecond << max(0, i+1-len(steps))
		if s := value.Seconds(step); most/s < 6 {
			return axis{(most/s + 1) * s, s}
		}
	}
}

func (a axis) labels() (list []string) {
	for at := value.Seconds(0); at <= a.end; at += a.step {
		label := check.Clock(at)
		if a.step < value.Seconds(time.Second) {
			label = fmt.Sprintf("%.1fs", time.Duration(at).Seconds())
		}
		list = append(list, label)
	}
	return list
}

// at returns the place of a value. One without a limit is at the end.
func (a axis) at(s value.Seconds) float64 { return min(float64(s)/float64(a.end), 1) }

// required returns the marks of the requirements on a row of a container with a value. The mark of
// a requirement that the value breaks is red.
func (a axis) required(w *check.Workload, c *check.Container, id check.RowID,
	value value.Seconds) (list []document.Bar) {
	for _, v := range w.Requirements {
		if v.Row != id || !slices.Contains(v.Containers, c.Name) {
			continue
		}
		class := "required"
		if !(check.Requirement{Row: id, Duration: time.Duration(v.Required)}).Holds(value) {
			class = "broken"
		}
		list = append(list, document.Bar{Class: class, From: a.at(v.Required), Title: "required: " + v.Requirement})
	}
	return list
}

// Explain returns what a kind of finding means.
func Explain(rule check.Rule) *document.Document {
	d := document.New(string(rule.ID))
	d.Headline, d.Facts = true, "severity: "+string(rule.Severity)
	for _, text := range []string{rule.Text, rule.Kubelet, rule.Do} {
		d.Text(document.Plain, text)
		d.Gap()
	}
	d.Text(document.Dim, "To ignore it: the annotation probesim.dev/ignore: "+string(rule.ID)+
		" on the workload or its pod template.")
	return d
}
