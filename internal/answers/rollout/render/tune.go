package render

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/show/report"
)

// Tuning writes the changes that meet requirements on rollouts, for a terminal.
func Tuning(w io.Writer, r *rollout.Tuning, o report.Options) error {
	t := &report.Writer{Options: o}
	for i := range r.Workloads {
		if i > 0 {
			t.Gap()
		}
		tuned(t, r, &r.Workloads[i])
	}
	t.Gap()
	t.Line(0, r.Program+" "+r.Requests.Covers, report.Dim)
	_, err := w.Write(t.Bytes())
	return err
}

func tuned(t *report.Writer, r *rollout.Tuning, w *rollout.Tuned) {
	t.Item(report.Cell{Text: w.Title(), Style: report.Bold}, "",
		fmt.Sprintf("Kubernetes %s, %s, %s", r.Kubernetes, Nodes(r.Delays), r.Router.Name))
	switch text := TunedHeadline(w); {
	case !w.Met && len(w.Changes) > 0:
		t.Line(0, text+" This one comes closest:", report.Bad)
	case !w.Met:
		t.Line(0, text, report.Bad)
	case len(w.Changes) == 0:
		t.Line(0, text, report.Good)
	}
	for _, c := range w.Changes {
		t.Item(report.Cell{Text: "  "}, Change(&c), fmt.Sprintf("%s:%d", w.File, c.Line))
	}
	for _, q := range w.Requirements {
		mark(t, q.After.Met, TunedRow(w, &q))
	}
	if takes := w.Takes; takes != nil && len(w.Changes) > 0 {
		before, after := rollout.Format(rollout.RowTakes, takes.Before), rollout.Format(rollout.RowTakes, takes.After)
		if before != after {
			t.Line(0, fmt.Sprintf("The rollout takes %s in the median, before %s.", after, before), report.Plain)
		}
	}
	if w.Note != "" {
		t.Line(0, w.Note, report.Plain)
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
	if rowOf(q.After) != rollout.RowPreStop && q.After.Value != nil {
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
	return rollout.Format(rowOf(v), *v.Value)
}
