package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/report"
)

// TextOptions say how to write a report for a terminal.
type TextOptions struct {
	report.Options
	Details bool // the tables of all containers, not only those that the verdict is about
}

// Text writes the report for a terminal: the verdict, and then tables.
func Text(w io.Writer, r *check.Report, o TextOptions) error {
	t := &writer{report.Writer{Options: o.Options}, r, o.Details}
	if len(r.Workloads) > 0 {
		t.verdict()
	}
	hidden := false
	for i := range r.Workloads {
		hidden = t.workload(&r.Workloads[i]) || hidden
	}
	t.more(hidden)
	_, err := w.Write(t.Bytes())
	return err
}

type writer struct {
	report.Writer
	r       *check.Report
	details bool
}

// shown reports whether the tables of a container are a part of the output: without details, those
// of the containers with findings if there is only one workload. Notes about a sidecar, which comes
// from elsewhere, do not count.
func (t *writer) shown(w *check.Workload, c *check.Container) bool {
	found := func(c check.Container) bool {
		return slices.ContainsFunc(c.Findings,
			func(f check.Finding) bool { return c.Sidecar == "" || f.Severity != check.Note })
	}
	return t.details || len(t.r.Workloads) == 1 && (found(*c) || !slices.ContainsFunc(w.Containers, found))
}

// workload writes the tables of a workload, and in a report of several its findings and
// requirements too. It reports whether tables are left out.
func (t *writer) workload(w *check.Workload) (hidden bool) {
	several := len(t.r.Workloads) > 1
	for _, c := range ordinaryFirst(w) {
		if !t.shown(w, c) {
			hidden = true
			continue
		}
		if !several && !t.details && len(c.Limits)+len(c.Times) == 0 && c.Deleted == nil { // the verdict says all
			continue
		}
		t.Gap()
		switch {
		case several:
			t.Line(0, fmt.Sprintf("%s, container %s", w.Title(), c.Name), report.Bold)
		case len(w.Containers) > 1:
			t.Line(0, "container "+c.Name, report.Bold)
		}
		t.container(w, c)
		if several && len(c.Findings) > 0 {
			t.Gap()
		}
		for k := range c.Findings {
			if several {
				t.finding(fmt.Sprintf("%-7s  %s", c.Findings[k].Severity, c.Findings[k].ID), &c.Findings[k])
			}
		}
	}
	if !several || !t.details || len(w.Requirements) == 0 {
		return hidden
	}
	t.Gap()
	if len(w.Containers) == 0 {
		t.Line(0, w.Title(), report.Bold)
	}
	for _, v := range w.Requirements {
		WriteRequirement(&t.Writer, &v)
	}
	return hidden
}

// ordinaryFirst returns the containers of a workload, and the sidecars last.
func ordinaryFirst(w *check.Workload) (list []*check.Container) {
	for i := range w.Containers {
		list = append(list, &w.Containers[i])
	}
	slices.SortStableFunc(list,
		func(a, b *check.Container) int { return cmp.Compare(min(1, len(a.Sidecar)), min(1, len(b.Sidecar))) })
	return list
}

func (t *writer) container(w *check.Workload, c *check.Container) {
	if line := NotAbout(t.r, w, c); line != "" && t.details { // otherwise, the verdict says so
		t.Line(0, line, report.Dim)
	}
	if t.details && len(c.Probes) > 0 {
		for _, p := range c.Probes {
			t.Line(2, fmt.Sprintf("%-9s  %s", p.Type, p.Text), report.Plain)
		}
		if len(c.Limits)+len(c.Times) > 0 || c.Deleted != nil {
			t.Gap()
		}
	}
	if table := limits(c); table != nil {
		t.Table(table)
	}
	t.facts(c)
}

func plain(text string) report.Cell { return report.Cell{Text: text} }

// labelWidth aligns the columns of the tables of all containers.
const labelWidth = 42

func label(text string) report.Cell { return plain(fmt.Sprintf("%-*s", labelWidth, text)) }

// limits returns the table of the limits and times, or nil if the container has neither.
func limits(c *check.Container) *report.Table {
	if len(c.Limits)+len(c.Times) == 0 {
		return nil
	}
	t := &report.Table{Left: 1}
	if len(c.Limits) > 0 {
		t.Head("", "always", "never", youSay(c))
		for _, l := range c.Limits {
			always, never := check.FormatDown(l.Always), check.FormatUp(l.Never)
			if l.Always == l.Never && l.Always.IsNever() {
				never = ""
			}
			t.Row(label(l.Text), plain(always), plain(never), said(c, &l))
		}
	}
	if len(c.Limits) > 0 && len(c.Times) > 0 {
		t.Line("", report.Plain)
	}
	if len(c.Times) > 0 {
		t.Head("", "best", "mean", "worst")
		for _, row := range c.Times {
			mean := ""
			if row.Mean != nil {
				mean = check.FormatUp(*row.Mean)
			}
			t.Row(label(row.Text), plain(best(&row)), plain(mean), plain(check.FormatTime(row.Worst)))
		}
	}
	return t
}

// youSay is the head of the column with the known starts of a container, or empty.
func youSay(c *check.Container) string {
	if c.Start == nil {
		return ""
	}
	if c.Measured != nil && c.Measured.Used {
		return "measured"
	}
	return "you say"
}

// said is the known length of starts beside the limit of a start. A mark says that the limit is
// shorter.
func said(c *check.Container, l *check.Limit) report.Cell {
	switch {
	case c.Start == nil || l.Row != check.Start && l.Row != check.Restart:
		return plain("")
	case check.Seconds(c.Start.Max) > l.Always:
		return report.Cell{Text: c.Start.String() + " !", Style: report.Bad}
	}
	return plain(c.Start.String() + "  ")
}

// facts writes what has no range.
func (t *writer) facts(c *check.Container) {
	table := &report.Table{Left: 2}
	if d := c.Deleted; d != nil && d.Condition == "" {
		table.Row(label("deleted -> SIGTERM, SIGKILL"), plain(check.FormatUp(d.SIGTERM)+", "+check.FormatUp(d.SIGKILL)))
	} else if d != nil {
		table.Row(label("deleted -> SIGTERM"), plain(stopped(d)))
		table.Row(label("deleted -> SIGKILL"), plain(check.FormatUp(d.SIGKILL)))
	}
	for _, f := range Facts(c) {
		table.Row(label(f.Name), plain(f.Text))
	}
	t.Table(table)
}

// stopped says from when on the stop signal comes, and what it waits for.
func stopped(d *check.Deletion) string {
	from := "from " + check.FormatUp(d.SIGTERM) + ", "
	if text := from + d.Condition; utf8.RuneCountInString(text) <= factWidth {
		return text
	}
	hook, others := strings.Contains(d.Condition, "hook"), strings.Contains(d.Condition, "exited")
	switch {
	case hook && others:
		return from + "after its hook and apps"
	case hook:
		return from + "once its hook ends"
	}
	return from + "once the apps exit"
}

// Fact is something about a container that has no range.
type Fact struct{ Name, Text string }

// NotAbout says of a sidecar that the command line without its name is not about it, if it says
// something. Otherwise, it returns an empty string.
func NotAbout(r *check.Report, w *check.Workload, c *check.Container) string {
	passedOver := r.Start != nil && c.Start == nil || r.Stop != nil && c.Stop == nil ||
		slices.ContainsFunc(w.Requirements, func(v check.Verification) bool {
			return !slices.Contains(v.Containers, c.Name) && !strings.Contains(v.Requirement, "/")
		})
	if c.Sidecar == "" || !passedOver {
		return ""
	}
	return fmt.Sprintf("A sidecar (%s): --start, --stop and --require without a name are not about it.", c.Sidecar)
}

// Facts returns what happens to a container that never comes up, when it exits, and the share of
// the known starts that come up.
func Facts(c *check.Container) []Fact {
	var list []Fact
	if c.Kill != nil {
		list = append(list, Fact{"stuck start: killed at the earliest after", c.Kill.String()})
	}
	if text := starts(c.Restarts); text != "" {
		list = append(list, Fact{"stuck start: starts at", text})
	}
	if c.Deleted != nil && c.Deleted.Exit != nil {
		list = append(list, Fact{fmt.Sprintf("deleted -> exit (stop of %s)", c.Stop),
			check.FormatDown(check.Seconds(c.Deleted.Exit.Min)) + " - " +
				check.FormatUp(check.Seconds(c.Deleted.Exit.Max))})
	}
	if c.StartShare != nil {
		list = append(list, Fact{fmt.Sprintf("starts of %s that come up", c.Start), check.Percent(*c.StartShare)})
	}
	return list
}

// starts formats the starts of a container that never comes up: the first ones, and the distance
// between the last ones.
func starts(times []check.Seconds) string {
	if len(times) == 0 {
		return ""
	}
	text := firstStarts(times, 3)
	if utf8.RuneCountInString(text) > factWidth {
		text = firstStarts(times, 2)
	}
	return text
}

// factWidth is the room in a terminal of 80 columns.
const factWidth = 80 - labelWidth - 4

func firstStarts(times []check.Seconds, shown int) string {
	var texts []string
	for _, s := range times[:min(shown, len(times))] {
		texts = append(texts, check.Clock(s))
	}
	text := strings.Join(texts, " ")
	if len(times) > shown+2 {
		least, greatest := times[len(times)-1]-times[len(times)-2], check.Seconds(0)
		for i := len(times) - 3; i < len(times); i++ {
			least, greatest = min(least, times[i]-times[i-1]), max(greatest, times[i]-times[i-1])
		}
		text += " … every " + check.Clock(least)
		if check.Clock(least) != check.Clock(greatest) {
			text += " to " + check.Clock(greatest)
		}
	}
	return text
}

var severityStyle = map[check.Severity]report.Style{check.Error: report.Bad, check.Warning: report.Warn,
	check.Note: report.Dim}

// finding writes a finding below its head.
func (t *writer) finding(head string, f *check.Finding) {
	t.Item(report.Cell{Text: head, Style: severityStyle[f.Severity]}, "", fmt.Sprintf("%s:%d", f.File, f.Line))
	t.Line(2, f.Message, report.Plain)
	if f.Fix != "" {
		t.Line(2, "Fix: "+f.Fix, report.Plain)
	}
	if command := Command(f); command != "" {
		t.Line(2, command, report.Dim)
	}
}

// WriteRequirement writes whether a requirement is met.
func WriteRequirement(t *report.Writer, v *check.Verification) {
	mark, style := "ok    ", report.Good
	if !v.Met {
		mark, style = "FAIL  ", report.Bad
	}
	t.Line(0, mark+Requirement(v), style)
	if command := RequirementCommand(v); command != "" {
		t.Line(2, command, report.Dim)
	}
}

// best describes the best value of a time. It is empty if there is none, because the worst value
// says so.
func best(t *check.Time) string {
	if t.Best.IsNever() {
		return ""
	}
	return check.FormatDown(t.Best)
}

// Requirement describes the result for a requirement in one line.
func Requirement(v *check.Verification) string {
	if v.Value == nil {
		return v.Requirement + ": " + v.Reason
	}
	text := v.Requirement + ": " + v.Row.Format(*v.Value) + " in container " + v.Container
	if v.Case != "" {
		text += ", " + v.Case
	}
	return text + " (" + v.Kubernetes + ")"
}

// Margin describes how far a value is from its requirement, or returns an empty string if that has
// no meaning.
func Margin(v *check.Verification) string {
	switch {
	case v.Margin == nil:
		return ""
	case *v.Margin < 0:
		return check.FormatUp(-*v.Margin) + " short of it"
	}
	return "margin " + check.FormatDown(*v.Margin)
}
