package search

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The number of lines that Text shows before and after the first difference.
const (
	linesBefore = 8
	linesAfter  = 12
)

// Text renders the difference as a unified diff does: "-" marks records that only the trace has,
// "+" marks records that only the simulator has.
func (d *Divergence) Text(want []trace.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "first record that no choice explains: at %s (- real kubelet, + simulator)\n",
		trace.FormatTime(d.At))
	if d.Err != nil {
		fmt.Fprintf(&b, "the simulation ended early: %v\n", d.Err)
	}
	before, after := d.lines(want)
	for _, l := range append(before[max(0, len(before)-linesBefore):], after[:min(linesAfter, len(after))]...) {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// lines merges both traces into one list, split at the first difference.
func (d *Divergence) lines(want []trace.Record) (before, after []string) {
	for _, t := range times(want, d.Simulated) {
		w, g := atTime(want, t), atTime(d.Simulated, t)
		onlyWant, onlyGot := without(w, g, d.details), without(g, w, d.details)
		both := without(w, onlyWant, d.details)
		lines := slices.Concat(render(" ", both, nil), render("-", onlyWant, onlyGot), render("+", onlyGot, onlyWant))
		if t < d.At {
			before = append(before, lines...)
		} else {
			after = append(after, lines...)
		}
	}
	return before, after
}

func times(lists ...[]trace.Record) []virtual.Time {
	var all []virtual.Time
	for _, list := range lists {
		for i := range list {
			if list[i].Kind.Observable() {
				all = append(all, list[i].T)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// render returns a line for each record. A status that looks like one of the other side is shown
// with its details.
func render(mark string, records, others []trace.Record) []string {
	var lines []string
	for i := range records {
		r := &records[i]
		text := r.Summary()
		same := func(o trace.Record) bool { return o.Status != nil && o.Pod == r.Pod && o.Summary() == text }
		if slices.ContainsFunc(others, same) {
			text = printable.Text(string(trace.AppendDetailed(nil, r)))
		}
		lines = append(lines, fmt.Sprintf("%s %12s  %s  %s", mark, trace.FormatTime(r.T), r.Subject(), text))
	}
	return lines
}
