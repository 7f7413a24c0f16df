package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/report"
)

// Text writes the report as tables.
func Text(w io.Writer, r *Report, o report.Options) error {
	t := &writer{Writer: report.Writer{Options: o}, fold: r.sum(func(*Container) int { return 1 }) > 1}
	t.Item(report.Cell{Text: r.Headline(), Style: report.Bold}, "",
		fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays))
	for i := range r.Workloads {
		t.workload(&r.Workloads[i])
	}
	if len(t.same) > 0 {
		t.Gap()
		t.Line(0, "No change: "+strings.Join(t.same, "; "), report.Dim)
	}
	for i := range r.Scenarios {
		t.scenario(&r.Scenarios[i])
	}
	_, err := w.Write(t.Bytes())
	return err
}

type writer struct {
	report.Writer
	fold bool     // containers without a change into a line at the end
	same []string // those
}

// Title is the name of a workload for people.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

var styles = map[Change]report.Style{Better: report.Good, Worse: report.Bad, Same: report.Dim}

func (t *writer) workload(w *Workload) {
	for i, line := range w.Pairings() {
		if i == 0 {
			t.Gap()
		}
		t.Line(0, line, report.Plain)
	}
	for i := range w.Containers {
		c := &w.Containers[i]
		if t.fold && !c.Changed() {
			t.same = append(t.same, w.HeadingOf(c))
			continue
		}
		t.Gap()
		t.container(w, c)
	}
	if len(w.Containers) == 0 {
		t.Gap()
		t.Line(0, w.Heading(), report.Bold)
		t.Line(0, "No container has probes.", report.Dim)
	}
	for _, problem := range w.Problems {
		t.Line(0, "not checked "+problem, report.Bad)
	}
	if len(w.Requirements) > 0 {
		t.Gap()
	}
	for i := range w.Requirements {
		render.WriteRequirement(&t.Writer, &w.Requirements[i])
	}
}

func (t *writer) container(w *Workload, c *Container) {
	t.Line(0, w.HeadingOf(c), report.Bold)
	if !c.Changed() {
		t.Line(0, "No change.", report.Dim)
		return
	}
	for _, remark := range w.Remarks(c) {
		style := report.Dim
		if remark.Worse {
			style = report.Bad
		}
		t.Line(0, remark.String(), style)
	}
	for _, p := range c.ChangedProbes() {
		t.Line(2, p, report.Plain)
	}
	if table := c.table(); table != nil {
		t.Gap()
		t.Table(table)
	}
	gone := c.gone()
	if len(c.Appeared)+len(gone) > 0 {
		t.Gap()
	}
	for i := range c.Appeared {
		f := &c.Appeared[i]
		t.Line(0, fmt.Sprintf("new %s  %s:%d", f.Severity, f.File, f.Line), report.Bad)
		t.Line(2, f.Message, report.Plain)
	}
	for i := range gone {
		f := &gone[i]
		t.Line(0, fmt.Sprintf("gone %s  %s:%d", f.Severity, f.File, f.Line), report.Good)
		t.Line(2, f.Message, report.Dim)
	}
}

// ChangedProbes describes the probes that differ: "- " before, "+ " after.
func (c *Container) ChangedProbes() []string {
	var lines []string
	for _, kind := range []string{"startup", "liveness", "readiness"} {
		of := func(list []check.Probe) string {
			for _, p := range list {
				if p.Type == kind {
					return fmt.Sprintf("%-9s  %s", kind, p.Text)
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

// rows returns the rows to show: without those that a container loses with a probe.
func (c *Container) rows() []Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r Row) bool { return len(c.Lost) > 0 && r.Change == Removed })
}

// gone returns the findings that a change ends. Without the probe that has them, they are no
// progress.
func (c *Container) gone() []check.Finding {
	if len(c.Lost) > 0 {
		return nil
	}
	return c.Disappeared
}

// table returns the table of the rows, or nil.
func (c *Container) table() *report.Table {
	all := c.rows()
	if len(all) == 0 {
		return nil
	}
	t := &report.Table{Left: 1}
	for _, part := range []struct {
		limit bool
		head  string
	}{{true, "always"}, {false, "at worst"}} {
		rows := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return r.Limit != part.limit })
		if len(rows) == 0 {
			continue
		}
		if part.limit != rows[0].Limit || len(rows) != len(all) && !part.limit {
			t.Line("", report.Plain)
		}
		t.Head(part.head, "before", "after", "")
		for i := range rows {
			r := &rows[i]
			before, after := r.Guaranteed()
			t.Row(report.Cell{Text: r.Text}, report.Cell{Text: r.Format(before)}, report.Cell{Text: r.Format(after)},
				report.Cell{Text: r.Difference(), Style: styles[r.Change]})
		}
	}
	return t
}

// Format formats a guaranteed value of a row.
func (r *Row) Format(s *check.Seconds) string {
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
	if before == nil || after == nil {
		return text
	}
	if before.IsNever() || after.IsNever() {
		return text
	}
	return check.FormatDifference(*before, *after) + " " + text
}
