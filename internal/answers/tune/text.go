package tune

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/workloads"
)

// TextOptions say how to write a report for a terminal.
type TextOptions struct {
	report.Options
	Details bool // all margins
}

// Text writes the report for people: for each container the changes, which requirements they meet,
// and what gets worse.
func Text(w io.Writer, r *Report, o TextOptions) error {
	t := &writer{report.Writer{Options: o.Options}, o.Details}
	for i := range r.Workloads {
		if i > 0 {
			t.Gap()
		}
		t.workload(r, &r.Workloads[i])
	}
	_, err := w.Write(t.Bytes())
	return err
}

type writer struct {
	report.Writer
	details bool
}

func (t *writer) workload(r *Report, w *Workload) {
	title := w.Title()
	if w.Problem != "" {
		t.Line(0, title, report.Bold)
		t.Line(0, "not tuned: "+w.Problem, report.Bad)
	}
	for _, m := range w.Missing {
		t.Line(0, title+", "+m.String(), report.Bad)
	}
	first := w.Problem == "" && len(w.Missing) == 0
	if g := w.Grace; g != nil {
		t.Item(report.Cell{Text: title, Style: report.Bold}, "", nodes(r))
		t.Line(2, g.String(), report.Good)
		t.Line(0, g.Why(), report.Plain)
		first = false
	} else if len(w.Requirements) == 0 && w.Problem == "" {
		t.Line(0, title+": the requirements are met already.", report.Good)
	}
	for i := range w.Containers {
		c := &w.Containers[i]
		if !c.Tuned() {
			continue
		}
		if !first {
			t.Gap()
		}
		first = false
		t.container(r, title, c)
	}
}

func (t *writer) container(r *Report, title string, c *Container) {
	t.Item(report.Cell{Text: fmt.Sprintf("%s, container %s", title, c.Name), Style: report.Bold}, "", nodes(r))
	switch {
	case len(c.Why) > 0:
		t.Line(0, "No setting was found that meets the requirements.", report.Bad)
		for _, x := range c.Why {
			t.Line(2, x, report.Plain)
		}
		return
	case len(c.Changes) == 0:
		t.Line(0, "The requirements are met already.", report.Good)
	}
	for _, x := range c.changed() {
		t.Line(2, x, report.Good)
	}
	if !t.details {
		t.Line(0, c.margins(), report.Plain)
		for _, note := range c.Notes() {
			t.Line(0, note, report.Plain)
		}
		return
	}
	t.Gap()
	table := &report.Table{Left: 1}
	table.Head("requirement", "value", "margin")
	for _, m := range c.Margins {
		table.Row(report.Cell{Text: m.Requirement}, report.Cell{Text: m.ValueText()},
			report.Cell{Text: check.FormatDown(m.Margin)})
	}
	t.Table(table)
	if x := c.Wider; x != nil {
		t.Line(0, fmt.Sprintf("%s %d just meets the requirements. With %d, the margin of %s is %s.", x.Field,
			c.after(x.Field), x.Value, x.Requirement, check.FormatDown(x.Margin)), report.Plain)
	}
	for i, note := range c.Notes() {
		if i == 0 {
			t.Gap()
		}
		t.Line(0, note, report.Plain)
	}
}

func nodes(r *Report) string {
	return fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays)
}

// changed returns the changes for people. A new probe is one.
func (c *Container) changed() (list []string) {
	for k, p := range c.added {
		if p != nil {
			list = append(list, fmt.Sprintf("%sProbe: none -> %s", kindNames[k], workloads.Describe(p)))
		}
	}
	for _, x := range c.Changes {
		if c.added[x.place.kind] == nil {
			list = append(list, fmt.Sprintf("%s: %s -> %d", x.Field, x.From(), x.After))
		}
	}
	return list
}

// margins says in a line by how much the requirements are met.
func (c *Container) margins() string {
	var list []string
	for _, m := range c.Margins {
		text := m.Requirement + ": " + m.ValueText()
		if margin := check.FormatDown(m.Margin); !m.Margin.IsNever() {
			text += " (margin " + margin + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// after is the new value of a changed field.
func (c *Container) after(field string) int32 {
	for _, x := range c.Changes {
		if x.Field == field {
			return x.After
		}
	}
	return 0
}
