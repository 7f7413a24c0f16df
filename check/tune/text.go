package tune

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/check"
	"probesim.dev/report"
)

// Text writes the report for people.
func Text(w io.Writer, r *Report, o report.Options) error {
	t := &writer{report.Writer{Options: o}}
	for i := range r.Workloads {
		if i > 0 {
			t.Gap()
		}
		t.workload(r, &r.Workloads[i])
	}
	_, err := w.Write(t.Bytes())
	return err
}

type writer struct{ report.Writer }

func (t *writer) workload(r *Report, w *Workload) {
	title := w.Title()
	if w.Problem != "" {
		t.Line(0, title, report.Bold)
		t.Line(0, "not tuned: "+w.Problem, report.Bad)
	}
	for _, m := range w.Missing {
		t.Line(0, title+", "+m.String(), report.Bad)
	}
	for _, v := range w.Overrides {
		t.Line(0, v.String(), report.Warn)
	}
	first := w.Problem == "" && len(w.Missing)+len(w.Overrides) == 0
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
	t.Line(0, fmt.Sprintf("%s, container %s", title, c.Name), report.Bold)
	t.Line(0, fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays), report.Dim)
	switch {
	case len(c.Contradictions) > 0:
		t.Line(0, "No setting was found that meets the requirements.", report.Bad)
		for _, x := range c.Contradictions {
			t.Line(2, x.Text, report.Plain)
		}
		return
	case len(c.Changes) == 0:
		t.Line(0, "The requirements are met already.", report.Good)
	}
	for _, x := range c.Changes {
		t.Line(2, fmt.Sprintf("%s: %s -> %d", x.Field, x.From(), x.After), report.Good)
	}
	t.Gap()
	table := &report.Table{Left: 1}
	table.Head("requirement", "value", "margin")
	for _, m := range c.Margins {
		table.Row(report.Cell{Text: m.Requirement}, report.Cell{Text: m.ValueText()}, report.Cell{Text: check.FormatDown(m.Margin)})
	}
	t.Table(table)
	if x := c.Wider; x != nil {
		t.Line(0, fmt.Sprintf("%s %d just meets the requirements. With %d, the margin of %s is %s.", x.Field, c.after(x.Field), x.Value, x.Requirement, check.FormatDown(x.Margin)), report.Plain)
	}
	for i, note := range c.Notes() {
		if i == 0 {
			t.Gap()
		}
		t.Line(0, note, report.Plain)
	}
	for i := range c.Frontiers {
		t.Gap()
		t.frontier(&c.Frontiers[i])
	}
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

func (t *writer) frontier(f *Frontier) {
	t.Line(0, fmt.Sprintf("Settings of the %s probe that keep its limits:", f.Probe), report.Plain)
	table := &report.Table{Left: 1}
	table.Head("", "timeout", string(f.Limit)+" always", string(f.Time)+" at worst", "a minute", "")
	for _, p := range f.Settings {
		note, style := "", report.Plain
		switch {
		case p.Chosen:
			note, style = "chosen", report.Good
		case !p.Met:
			note, style = "not enough", report.Dim
		}
		var row []report.Cell
		for _, text := range []string{fmt.Sprintf("%ds x %d", p.Period, p.Threshold), fmt.Sprintf("%ds", p.Timeout), check.FormatDown(p.Limit), check.FormatTime(p.Time), fmt.Sprintf("%.4g", p.PerMinute), note} {
			row = append(row, report.Cell{Text: text, Style: style})
		}
		table.Row(row...)
	}
	t.Table(table)
}
