package html

import (
	"cmp"
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
	story = merge(story)
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
// exits of containers, and each change of Started and Ready.
func changes(records []trace.Record) []change {
	t := conditions{known: map[string]bool{}, lost: map[string]trace.Record{}}
	var story []change
	for i := range records {
		r := &records[i]
		for _, h := range t.changes(r) {
			h.Record = r
			if h.Cause = trace.ByStep(records, r.Cause); h.Cause != nil {
				title, message := report.Describe(h.Cause)
				h.Why = title
				if message != "" && h.Cause.Kind != trace.StatusPatched {
					h.Why += ": " + printable.Text(message)
				}
			}
			story = append(story, h)
		}
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

// merge combines the changes in one status patch, unless they are of opposite tones, because they
// have the same cause.
func merge(story []change) []change {
	var merged []change
	for _, h := range story {
		if n := len(merged); n > 0 && h.Record.Kind == trace.StatusPatched && merged[n-1].Record == h.Record &&
			!opposite(merged[n-1].Tone, h.Tone) {
			last := &merged[n-1]
			h.What, h.Tone = last.What+", "+h.What, cmp.Or(h.Tone, last.Tone)
			if len(h.Chain) == 0 && len(last.Chain) > 0 {
				h.Chain, h.Why, h.Cause = last.Chain, last.Why, last.Cause
			}
			*last = h
			continue
		}
		merged = append(merged, h)
	}
	return merged
}

func opposite(a, b document.Style) bool { return a != b && a != document.Plain && b != document.Plain }

// conditions tracks the values of conditions.
type conditions struct {
	known map[string]bool         // by subject and name
	lost  map[string]trace.Record // the last end of a loss, by pod
}

func (t *conditions) changes(r *trace.Record) []change {
	title, message := report.Describe(r)
	switch r.Kind {
	case trace.ContainerStarted, trace.PodAdded, trace.KubeletStarted, trace.PodRemoved:
		return []change{{What: title}}
	case trace.ContainerStopping, trace.KubeletStopped:
		return []change{{What: join(title, message), Tone: document.Warn}}
	case trace.ContainerExited:
		tone := document.Bad
		if r.ExitCode == 0 {
			tone = document.Plain
		}
		return []change{{What: title, Tone: tone}}
	case trace.PodDeleteRequested, trace.Step:
		return []change{{What: join(title, printable.Text(message)), Tone: document.Warn}}
	case trace.StatusPatched:
		return t.status(r)
	case trace.LossStarted:
		return t.loss(r)
	case trace.LossEnded:
		t.lost[r.Pod] = *r
	}
	return nil
}

// loss returns the begin of a loss of requests, unless it goes on with another share or for another
// reason.
func (t *conditions) loss(r *trace.Record) []change {
	if last, is := t.lost[r.Pod]; is && last.T == r.T && last.Took > 0 {
		return nil
	}
	return []change{{What: fmt.Sprintf("requests are lost (%s): %d of %d", r.Reason, r.Object.Loss.One,
		r.Object.Loss.Of), Tone: document.Bad, plain: true}}
}

func join(title, message string) string {
	if message == "" {
		return title
	}
	return title + ", " + message
}

func (t *conditions) status(r *trace.Record) []change {
	var news []change
	if r.Status == nil {
		return nil
	}
	for i := range r.Status.Containers {
		c := &r.Status.Containers[i]
		name, key := printable.Text(c.Name), r.Pod+"/"+c.Name
		if t.flipped(key+" started", c.Started) {
			started := condition(name+" Started", c.Started)
			started.plain = true
			if !c.Started && c.Ready && c.State == "terminated" { // an init container has completed
				started.Tone = document.Plain
			}
			news = append(news, started)
		}
		if len(r.Status.Containers) > 1 && t.flipped(key+" ready", c.Ready) {
			news = append(news, condition(name+" Ready", c.Ready))
		}
		if c.Reason == "CrashLoopBackOff" != t.known[key+" backoff"] {
			if t.known[key+" backoff"] = !t.known[key+" backoff"]; t.known[key+" backoff"] {
				news = append(news, change{What: fmt.Sprintf("%s waits: CrashLoopBackOff", name), Tone: document.Bad,
					plain: true})
			}
		}
	}
	if t.flipped(r.Pod, r.Status.Ready) {
		news = append(news, condition("Ready", r.Status.Ready))
	}
	return news
}

// flipped records the value of a condition, and reports whether it changed. Conditions are false
// initially.
func (t *conditions) flipped(key string, on bool) bool {
	if t.known[key] == on {
		return false
	}
	t.known[key] = on
	return true
}

func condition(name string, on bool) change {
	if on {
		return change{What: name + " is true", Tone: document.Good}
	}
	return change{What: name + " is false", Tone: document.Bad}
}
