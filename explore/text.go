package explore

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TextOptions configure Text.
type TextOptions struct {
	document.Options
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
	shard := ""
	if r.Shards > 0 {
		shard = fmt.Sprintf("  shard %d of %d", r.Shard, r.Shards)
	}
	d := document.New("The outcomes of " + r.Scenario)
	d.Text(document.Bold, fmt.Sprintf("%s  %s  %s  %s%s", r.Scenario, r.Kubernetes, printable.Count(r.Runs, "run"),
		printable.Count(len(r.Outcomes), "outcome"), shard))
	d.Text(document.Dim, r.ending())
	d.Gap()
	r.policies(&d.Body)
	d.Gap()
	r.outcomes(&d.Body, o.All)
	for _, f := range r.Findings() {
		d.Gap()
		d.List()
		d.Item(f.item(o.Replay))
	}
	return d.Write(w, "text", o.Options)
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

func (r *Result) policies(b *document.Body) {
	table := &document.Table{Left: 1, Head: []string{"policy", "runs", "new outcomes", "left out"}}
	for _, p := range r.Policies {
		left := ""
		if p.Cut || p.Done < p.Tasks {
			left = "some"
			if p.Runs == 0 {
				left = "all"
			}
		}
		table.Texts(p.Policy, printable.Thousands(p.Runs), printable.Thousands(p.Outcomes), left)
	}
	b.Table(table)
}

// outcomes adds the outcomes. What follows the first line of one is beside its changes.
func (r *Result) outcomes(b *document.Body, all bool) {
	for i, o := range r.Outcomes {
		if i == maxListed && len(r.Outcomes) > maxListed+1 && !all {
			b.Text(document.Dim, fmt.Sprintf("... and %s; --all lists them",
				printable.Count(len(r.Outcomes)-i, "other outcome")))
			break
		}
		x := document.Item{Mark: o.ID,
			Text: printable.Count(o.Count, "run") + "  " + strings.Join(o.Change.Lines(), ", ")}
		if o.History.Bad() {
			x.Style = document.Bad
		}
		b.Item(x)
		add := func(format string, args ...any) { b.Item(document.Item{Text: fmt.Sprintf(format, args...)}) }
		if i > 0 {
			add("%s", o.History.difference(&r.Outcomes[0].History))
		}
		for i, s := range o.Spread {
			if i > 0 && !all {
				add("and %s with times like this", printable.Count(len(o.Spread)-i, "other entry"))
				break
			}
			add("%s: from %s to %s, by the choices alone", s.Entry, value.Format(s.From.Offset()),
				value.Format(s.To.Offset()))
			add("earliest: %s", strings.Join(s.Early.Lines(), ", "))
			add("latest: %s", strings.Join(s.Late.Lines(), ", "))
		}
	}
}

func (f *Finding) item(replay func(o *Outcome) string) document.Item {
	first := f.Outcomes[0]
	x := document.Item{Mark: "FAIL", Style: document.Bad, Text: f.Text, Notes: []string{
		fmt.Sprintf("in %s, %s; first: %s", printable.Count(len(f.Outcomes), "outcome"), printable.Count(f.Runs, "run"),
			strings.Join(first.Change.Lines(), ", "))}}
	if f.Known {
		x.Mark, x.Style = "known", document.Warn
	}
	if replay != nil {
		x.Command = replay(first)
	}
	return x
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

// PartsFrom says where the run first differs from the run as written. It returns "" if they are
// equal.
func (r *Run) PartsFrom(written *Run) string {
	end := virtual.At(0)
	if n := len(written.Records); n > 0 {
		end = written.Records[n-1].T
	}
	d := diff.Compare(diff.Run{Records: written.Records, End: end}, diff.Run{Records: r.Records, End: end})
	if d.Same {
		return ""
	}
	text := "parts from the run as written at " + trace.FormatTime(*d.First)
	for _, side := range []struct {
		of   diff.Side
		word string
	}{{diff.A, ", which has "}, {diff.B, "; this run has "}} {
		for _, line := range d.Around {
			if line.Side == side.of {
				text += side.word + describeRecord(line.Record)
				break
			}
		}
	}
	return text
}

// describeRecord describes a record in a few words.
func describeRecord(r *trace.Record) string {
	words := []string{string(r.Kind), r.Pod, r.Container, string(r.Probe), string(r.Result), r.Reason}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ") + " at " + trace.FormatTime(r.T)
}
