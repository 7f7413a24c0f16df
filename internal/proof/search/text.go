package search

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// Text renders the difference as a unified diff does: "-" marks records that only the trace has,
// "+" marks records that only the simulator has.
func (d *Divergence) Text(want []trace.Record) string {
	head := fmt.Sprintf("first record that no choice explains: at %s (- real kubelet, + simulator)\n",
		trace.FormatTime(d.At))
	if d.Err != nil {
		head += fmt.Sprintf("the simulation ended early: %v\n", d.Err)
	}
	return head + d.around(want, observable(d.details), "-+", 8, 12)
}

// Change renders the difference as a change from what the simulator does to the trace: "-" marks
// records that only the simulator has, "+" marks records that only the trace has.
func (d *Divergence) Change(want []trace.Record) string {
	return d.around(want, observable(d.details), "+-", 8, 12)
}

// Calls renders the calls to the container runtime and the API server around the difference, as
// Text does. The trace must have them.
func (d *Divergence) Calls(want []trace.Record) string {
	calls := view{func(r *trace.Record) bool { return r.Kind == trace.CRICall },
		func(r *trace.Record) string { return r.Subject() + "  " + r.Summary() }}
	return "calls around the difference (- real kubelet, + simulator)\n" + d.around(want, calls, "-+", 25, 15)
}

// around renders a view of both sides in lines before and after the first difference. marks are the
// mark of the trace and that of the simulator.
func (d *Divergence) around(want []trace.Record, v view, marks string, before, after int) string {
	var earlier, later []string
	for _, t := range v.times(want, d.Simulated) {
		w, g := v.atTime(want, t), v.atTime(d.Simulated, t)
		onlyWant, onlyGot := v.without(w, g), v.without(g, w)
		old, changed := render(marks[:1], onlyWant, onlyGot), render(marks[1:], onlyGot, onlyWant)
		if marks[0] == '+' {
			old, changed = changed, old
		}
		lines := slices.Concat(render(" ", v.without(w, onlyWant), nil), old, changed)
		if t < d.At {
			earlier = append(earlier, lines...)
		} else {
			later = append(later, lines...)
		}
	}
	lines := append(earlier[max(0, len(earlier)-before):], later[:min(after, len(later))]...)
	return strings.Join(lines, "\n") + "\n"
}

// render renders records with a mark in front. It shows the details of a status where the summary
// of a different record of the other side is the same.
func render(mark string, records, others []trace.Record) []string {
	var lines []string
	for i := range records {
		r := &records[i]
		text := r.Summary()
		same := func(o trace.Record) bool { return o.Status != nil && o.Pod == r.Pod && o.Summary() == text }
		if slices.ContainsFunc(others, same) {
			text = printable.Text(string(trace.AppendDetailed(nil, r)))
		}
		lines = append(lines, fmt.Sprintf("%s %12s  %s  %s", mark, trace.FormatTime(r.T), r.Subject(),
			strings.TrimPrefix(text, string(trace.CRICall)+" ")))
	}
	return lines
}
