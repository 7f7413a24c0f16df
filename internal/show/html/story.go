package html

import (
	"fmt"
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
	"probesim.dev/trace"
)

// change is a row of the table "What happened".
type change struct {
	Record *trace.Record
	What   string
	Tone   document.Style
	Cause  *trace.Record
	Why    string
	Chain  []why.Link // sentences from the nearest cause to the root
	plain  bool       // has no chain
}

// addStory adds the table "What happened".
func addStory(b *document.Body, run *report.Run) {
	story := changes(run.Records)
	explain(run, story)
	s := b.Section(document.Section{Title: "What happened", Facts: report.Plural(len(story), "change"), Fold: true})
	t := &document.Table{Left: 4, Head: []string{"At", "Object", "What", "Cause"}}
	kept, left := report.TrimMiddle(story, maxRows)
	for i, h := range kept {
		if left > 0 && i == maxRows/2 {
			t.Line(document.Dim, fmt.Sprintf("… %s omitted; use -o jsonl to see all", report.Plural(left, "row")))
		}
		t.Row(document.Cell{Text: trace.FormatTime(h.Record.T), Steps: []int64{h.Record.Step}},
			document.Cell{Text: h.Record.Subject()}, document.Cell{Text: h.What, Style: h.Tone}, h.because())
	}
	s.Table(t)
}

// because returns a cell with a line for each cause.
func (h *change) because() document.Cell {
	if len(h.Chain) == 0 && h.Cause != nil {
		return document.Cell{Text: trace.FormatTime(h.Cause.T) + " " + h.Why, Steps: []int64{h.Cause.Step}}
	}
	c := document.Cell{Text: h.Why}
	for i, link := range h.Chain {
		if i > 0 {
			c.Text += "\nbecause "
		}
		if link.Kind == trace.Behavior {
			link.Step = 0 // which the timeline does not have
		}
		c.Text, c.Steps = c.Text+printable.Text(link.Text), append(c.Steps, link.Step)
	}
	return c
}

// changes returns the most important changes of a run: actions from outside, starts, stops and
// exits of containers, and the changes of Started and Ready in each status patch.
func changes(records []trace.Record) []change {
	t := conditions{known: map[string]bool{}, lost: map[string]trace.Record{}}
	var story []change
	for i := range records {
		h := change{Record: &records[i]}
		if t.describe(&h); h.What == "" {
			continue
		}
		if h.Cause = trace.ByStep(records, h.Record.Cause); h.Cause != nil {
			title, message := report.Describe(h.Cause)
			h.Why = title
			if message != "" && h.Cause.Kind != trace.StatusPatched {
				h.Why += ": " + printable.Text(message)
			}
		}
		story = append(story, h)
	}
	return story
}

// explain adds the chains of causes, if the run has explanations. A chain ends at a change that has
// a row of its own, which goes on with it.
func explain(run *report.Run, story []change) {
	if run.Why == nil {
		return
	}
	rows := map[int64]bool{}
	for i := range story {
		h := &story[i]
		rows[h.Record.Step] = true
		chain := run.Why.Chain(h.Record.Step)
		if len(chain) < 2 || h.plain || h.Record.Kind == trace.ContainerStarted && h.Record.Instance == 0 {
			continue
		}
		h.Why, h.Cause = "", trace.ByStep(run.Records, chain[1].Step)
		h.Chain = chain[1:]
		row := func(link why.Link) bool { return link.Kind != trace.Behavior && rows[link.Step] }
		if end := slices.IndexFunc(h.Chain, row); end >= 0 {
			h.Chain = h.Chain[:end+1]
		}
	}
}

// conditions tracks the values of conditions.
type conditions struct {
	known map[string]bool         // by subject and name
	lost  map[string]trace.Record // the last end of a loss, by pod
}

// describe says what a record changes, if it is worth a row.
func (t *conditions) describe(h *change) {
	r := h.Record
	title, message := report.Describe(r)
	switch r.Kind {
	case trace.ContainerStarted, trace.PodAdded, trace.KubeletStarted, trace.PodRemoved:
		h.What = title
	case trace.ContainerStopping, trace.KubeletStopped, trace.PodDeleteRequested, trace.Step:
		h.add(title, document.Warn)
		h.add(printable.Text(message), document.Warn)
	case trace.ContainerExited:
		if h.What = title; r.ExitCode != 0 {
			h.Tone = document.Bad
		}
	case trace.StatusPatched:
		if r.Status != nil {
			t.status(h)
		}
	case trace.LossStarted:
		t.loss(h)
	case trace.LossEnded:
		t.lost[r.Pod] = *r
	}
}

// add adds words to a row. The worst tone counts.
func (h *change) add(what string, tone document.Style) {
	if h.What != "" && what != "" {
		h.What += ", "
	}
	h.What, h.Tone = h.What+what, max(h.Tone, tone)
}

// loss describes the begin of a loss of requests, unless it goes on with another share or for
// another reason.
func (t *conditions) loss(h *change) {
	r := h.Record
	if last, is := t.lost[r.Pod]; is && last.T == r.T && last.Took > 0 {
		return
	}
	h.add(fmt.Sprintf("requests are lost (%s): %d of %d", r.Reason, r.Object.Loss.One, r.Object.Loss.Of), document.Bad)
	h.plain = true
}

func (t *conditions) status(h *change) {
	status, pod := h.Record.Status, h.Record.Pod
	h.plain = true
	for i := range status.Containers {
		c := &status.Containers[i]
		name, key := printable.Text(c.Name), pod+"/"+c.Name
		completed := !c.Started && c.Ready && c.State == "terminated" // an init container
		t.condition(h, key+" started", name+" Started", c.Started, completed)
		if len(status.Containers) > 1 && t.condition(h, key+" ready", name+" Ready", c.Ready, false) {
			h.plain = false
		}
		if backOff := c.Reason == "CrashLoopBackOff"; t.flipped(key+" backoff", backOff) && backOff {
			h.add(name+" waits: CrashLoopBackOff", document.Bad)
		}
	}
	if t.condition(h, pod, "Ready", status.Ready, false) {
		h.plain = false
	}
}

// condition adds the value of a condition if it changed, and reports whether it did.
func (t *conditions) condition(h *change, key, name string, on, expected bool) bool {
	if !t.flipped(key, on) {
		return false
	}
	tone := document.Bad
	switch {
	case on:
		tone = document.Good
	case expected:
		tone = document.Plain
	}
	h.add(fmt.Sprintf("%s is %t", name, on), tone)
	return true
}

// flipped records the value of a condition, and reports whether it changed. Conditions are false
// initially.
func (t *conditions) flipped(key string, on bool) bool {
	changed := t.known[key] != on
	t.known[key] = on
	return changed
}
