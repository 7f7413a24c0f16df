package render

import (
	"fmt"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/show/document"
)

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
