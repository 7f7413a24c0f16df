package explore

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
)

// TextOptions configure Text.
type TextOptions struct {
	report.Options
	All    bool                    // list all outcomes, instead of the first ones
	Replay func(o *Outcome) string // the command that repeats the witness of an outcome; "" if there is none
}

// maxListed is the number of outcomes that Text lists by default.
const maxListed = 15

// Finding is something wrong in one or more outcomes.
type Finding struct {
	Text     string
	Known    bool // a known bug of the kubelet
	Outcomes []*Outcome
	Runs     int
}

// Findings returns what is wrong in the outcomes, known bugs last.
func (r *Result) Findings() []*Finding {
	var list []*Finding
	for _, o := range r.Outcomes {
		for _, text := range o.History.Findings() {
			i := slices.IndexFunc(list, func(f *Finding) bool { return f.Text == text })
			if i < 0 {
				i = len(list)
				list = append(list, &Finding{Text: text, Known: strings.Contains(text, ", known as ")})
			}
			list[i].Outcomes = append(list[i].Outcomes, o)
			list[i].Runs += o.Count
		}
	}
	slices.SortStableFunc(list, func(a, b *Finding) int {
		switch {
		case a.Known == b.Known:
			return 0
		case b.Known:
			return -1
		}
		return 1
	})
	return list
}

// Bad reports whether an outcome fails an expectation, or breaks an invariant in a way that is not
// a known bug of the kubelet.
func (r *Result) Bad() bool {
	return slices.ContainsFunc(r.Outcomes, func(o *Outcome) bool { return o.History.Bad() })
}

// Text writes the result for people.
func Text(w io.Writer, r *Result, o TextOptions) error {
	t := &textWriter{report.Writer{Options: o.Options}, o}
	shard := ""
	if r.Shards > 0 {
		shard = fmt.Sprintf("  shard %d of %d", r.Shard, r.Shards)
	}
	t.Line(0, fmt.Sprintf("%s  %s  %s  %s%s", r.Scenario, r.Kubernetes, printable.Count(r.Runs, "run"),
		printable.Count(len(r.Outcomes), "outcome"), shard), report.Bold)
	t.Line(0, r.ending(), report.Dim)
	t.policies(r)
	t.outcomes(r)
	for _, f := range r.Findings() {
		t.finding(f)
	}
	_, err := w.Write(t.Bytes())
	return err
}

// ending says what ended the search and what it covers.
func (r *Result) ending() string {
	text := "Ended by: " + r.Ended + "."
	if r.Complete != "" {
		text += " Complete for " + r.Complete + "; jitters and phases are samples."
	}
	if r.ControlPlane {
		text += " Controllers do not restart, and only seeds change the latencies of the control plane."
	}
	if r.Unjudged {
		text += " No expectation applies to " + r.Kubernetes + ": only invariants were checked."
	}
	return text
}

type textWriter struct {
	report.Writer
	o TextOptions
}

func (t *textWriter) policies(r *Result) {
	t.Gap()
	table := &report.Table{Left: 1}
	table.Head("policy", "runs", "new outcomes", "left out")
	for _, p := range r.Policies {
		left := ""
		if p.Cut || p.Done < p.Tasks {
			left = "some"
			if p.Runs == 0 {
				left = "all"
			}
		}
		table.Row(report.Cell{Text: p.Policy}, report.Cell{Text: printable.Thousands(p.Runs)},
			report.Cell{Text: printable.Thousands(p.Outcomes)}, report.Cell{Text: left})
	}
	t.Table(table)
}

func (t *textWriter) outcomes(r *Result) {
	t.Gap()
	base := &History{}
	if len(r.Outcomes) > 0 {
		base = &r.Outcomes[0].History
	}
	for i, o := range r.Outcomes {
		if i == maxListed && len(r.Outcomes) > maxListed+1 && !t.o.All {
			t.Line(0, fmt.Sprintf("... and %s; --all lists them", printable.Count(len(r.Outcomes)-i, "other outcome")),
				report.Dim)
			break
		}
		style := report.Plain
		if o.History.Bad() {
			style = report.Bad
		}
		head, change := o.ID+"  "+printable.Count(o.Count, "run"), strings.Join(o.Change.Lines(), ", ")
		if len(head)+2+len(change) <= max(t.o.Width, 40) {
			t.Line(0, head+"  "+change, style)
		} else {
			t.Line(0, head, style)
			t.Line(14, change, style)
		}
		if i > 0 {
			t.Line(14, o.History.difference(base), report.Dim)
		}
		for i, s := range o.Spread {
			if i > 0 && !t.o.All {
				t.Line(14, fmt.Sprintf("and %s with times like this", printable.Count(len(o.Spread)-i, "other entry")),
					report.Dim)
				break
			}
			t.Line(14, fmt.Sprintf("%s: from %s to %s, by the choices alone", s.Entry, value.Format(s.From.Offset()),
				value.Format(s.To.Offset())), report.Warn)
			t.Line(14, "earliest: "+strings.Join(s.Early.Lines(), ", "), report.Dim)
			t.Line(14, "latest: "+strings.Join(s.Late.Lines(), ", "), report.Dim)
		}
	}
}

func (t *textWriter) finding(f *Finding) {
	t.Gap()
	word, style := "FAIL", report.Bad
	if f.Known {
		word, style = "known", report.Warn
	}
	t.Line(0, word+"  "+f.Text, style)
	first := f.Outcomes[0]
	t.Line(2, fmt.Sprintf("in %s, %s; first: %s", printable.Count(len(f.Outcomes), "outcome"),
		printable.Count(f.Runs, "run"), strings.Join(first.Change.Lines(), ", ")), report.Plain)
	if t.o.Replay == nil {
		return
	}
	if command := t.o.Replay(first); command != "" {
		t.Line(2, command, report.Plain)
	}
}

// difference says in a few words in what a history first differs from another one. It names the pod
// if there are several.
func (h *History) difference(from *History) string {
	for _, p := range h.Pods {
		i := slices.IndexFunc(from.Pods, func(q PodHistory) bool { return q.Pod == p.Pod })
		if i < 0 {
			return "pod " + p.Pod + " appears"
		}
		q := &from.Pods[i]
		container, status := "", ""
		if len(h.Pods) > 1 {
			container, status = p.Pod+"/", p.Pod+" "
		}
		for _, c := range p.Containers {
			k := slices.IndexFunc(q.Containers, func(d ContainerHistory) bool { return d.Container == c.Container })
			if k < 0 {
				return container + c.Container + " starts"
			}
			if text := differ(c.Events, q.Containers[k].Events); text != "" {
				return container + c.Container + ": " + text
			}
		}
		if text := differ(p.Status, q.Status); text != "" {
			return status + "status: " + text
		}
	}
	for i, o := range h.Objects {
		if i < len(from.Objects) {
			if text := differ(o.Events, from.Objects[i].Events); text != "" {
				return o.Object + ": " + text
			}
		}
	}
	switch {
	case h.Error != from.Error:
		return "ends early: " + h.Error
	case !slices.Equal(h.Failed, from.Failed):
		return "other expectations fail: " + strings.Join(h.Failed, ", ")
	case !slices.Equal(h.Broken, from.Broken):
		return "breaks other invariants"
	}
	return "the same history"
}

// differ describes the first difference of two lists.
func differ(list, from []string) string {
	for i := range max(len(list), len(from)) {
		switch {
		case i >= len(list):
			return "ends before '" + from[i] + "'"
		case i >= len(from):
			return "goes on with '" + list[i] + "'"
		case list[i] != from[i]:
			return "'" + list[i] + "' instead of '" + from[i] + "'"
		}
	}
	return ""
}
