package html

import (
	"cmp"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
	"probesim.dev/trace"
)

// gather adds to the chart the records of its lanes, with all their direct and indirect causes.
func (c *chart) gather(all []trace.Record, causes *why.Run) {
	wanted := map[int64]bool{}
	for _, l := range c.Lanes {
		for _, r := range l.Records {
			l.Steps = append(l.Steps, r.Step)
			wanted[r.Step] = true
		}
		for i := range l.Bars {
			if r := l.Bars[i].Record; r != nil {
				l.Bars[i].Step = r.Step
				wanted[r.Step] = true
			}
		}
	}
	for _, f := range c.Flags {
		wanted[f.Step] = true
	}
	// Go backwards, because causes precede their effects.
	for i := len(all) - 1; i >= 0; i-- {
		if wanted[all[i].Step] {
			wanted[all[i].Cause] = true
		}
	}
	texts := table{at: map[string]int64{}}
	for i := range all {
		if r := &all[i]; wanted[r.Step] {
			rule := ""
			if causes != nil {
				rule = causes.Failing(r)
			}
			c.Records = append(c.Records, texts.point(r, rule))
		}
	}
	c.Texts = texts.list
}

// table numbers texts, because most of them occur often.
type table struct {
	list []string
	at   map[string]int64
}

func (t *table) add(text string) int64 {
	i, known := t.at[text]
	if !known {
		i = int64(len(t.list))
		t.at[text] = i
		t.list = append(t.list, text)
	}
	return i
}

func (t *table) point(r *trace.Record, rule string) point {
	title, message := report.Describe(r)
	return point{r.Step, int64(r.T), r.Cause, int64(r.Took), t.add(glyph(r)), t.add(r.Subject()), t.add(title),
		t.add(printable.Text(message)), t.add(rule)}
}

// glyphs are the names of the marks of records. Results have their own.
var glyphs = map[trace.Kind]string{trace.Event: "event", trace.ContainerStarted: "start",
	trace.ContainerStopping: "stop",
	trace.ContainerExited:   "exit", trace.StatusPatched: "flip"}

// glyph returns the name of the mark of a record.
func glyph(r *trace.Record) string {
	switch {
	case r.Kind == trace.Event && r.Type == "Warning":
		return "alert"
	case r.Kind == trace.ContainerExited && r.ExitCode == 0:
		return "done"
	}
	return cmp.Or(glyphs[r.Kind], string(r.Result), "step")
}
