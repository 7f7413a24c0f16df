package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/document"
	"probesim.dev/trace"
)

// Diff compares the runs of one scenario with several versions of Kubernetes.
type Diff struct {
	Scenario string             `json:"scenario"`
	File     string             `json:"file"`
	Line     int                `json:"line"`
	Seed     *int64             `json:"seed,omitempty"` // nil for a run without a seed
	Names    []string           `json:"versions"`       // of each run
	Pairs    []*diff.Difference `json:"-"`              // each run compared with the next one
	Changed  []diff.Row         `json:"changed"`        // compares all runs
	Replay   string             `json:"-"`              // command that repeats the comparison
	Notes    []string           `json:"notes,omitempty"`
	Err      error              `json:"-"` // set if a run failed, so that there is no comparison
}

// Kind says how far runs differ. A greater kind tells a reader more.
type Kind int

const (
	NoDifference Kind = iota // except for messages
	InTiming
	InBehavior
	EndedEarly
)

// kinds have the marks of comparisons, and the words for the first comparison of a kind.
var kinds = [...]struct {
	mark  string
	style document.Style
	first string
}{
	{"same", good, ""}, {"differs", warn, "first difference"}, {"differs", warn, "first difference in behavior"},
	{"ERROR", bad, "first run that ended early"},
}

// Kind returns the greatest kind of difference of two runs.
func (d *Diff) Kind() (k Kind) {
	if d.Err != nil {
		return EndedEarly
	}
	for _, p := range d.Pairs {
		switch {
		case p.Diverges:
			return InBehavior
		case !p.Same():
			k = InTiming
		}
	}
	return k
}

// DiffLine writes one line about a comparison, with the scenario name padded to pad characters.
func DiffLine(w io.Writer, d *Diff, pad int, o document.Options) error {
	var facts []string
	if d.Seed != nil {
		facts = append(facts, fmt.Sprintf("seed %d", *d.Seed))
	}
	kind := d.Kind()
	if kind == InTiming || kind == InBehavior {
		facts = append(facts, d.summary())
	}
	line := kind.line(d.Scenario, pad, facts...)
	if d.Err != nil {
		line.Notes = errorLines(d.Err)
	}
	if err := writeLine(w, line, o); err != nil || kind == NoDifference {
		return err
	}
	o.Margin += 2 // the notes may explain the difference
	return document.WriteText(w, o, func(b *document.Body) { AddNotes(b, d.Notes) })
}

// line returns the line of a comparison, or of several.
func (k Kind) line(name string, pad int, facts ...string) document.Item {
	line := lineOf(Broken, name, pad, facts...)
	line.Mark, line.Style = fmt.Sprintf("%-7s", kinds[k].mark), kinds[k].style
	return line
}

// summary says when runs first differ in timing and in behavior, or why there is no comparison.
func (d *Diff) summary() string {
	if d.Err != nil {
		return d.Err.Error()
	}
	first, behavior := "", ""
	for i, p := range d.Pairs {
		pair := ""
		if len(d.Pairs) > 1 {
			pair = " (" + d.Names[i] + ", " + d.Names[i+1] + ")"
		}
		if first == "" && !p.Same() {
			first = trace.FormatTime(p.First) + pair
		}
		if behavior == "" && p.Diverges {
			behavior = trace.FormatTime(p.Divergence) + pair
		}
	}
	switch behavior {
	case "":
		return "timing from " + first
	case first:
		return "behavior from " + first
	}
	return "timing from " + first + ", behavior from " + behavior
}

// DiffText writes a comparison in full: the records around the first difference, and a table of the
// measures that changed.
func DiffText(w io.Writer, d *Diff, o document.Options) error { return document.WriteText(w, o, d.add) }

func (d *Diff) add(b *document.Body) {
	for i, p := range d.Pairs {
		b.Gap()
		addPair(b, d.Names[i], d.Names[i+1], p)
	}
	b.Gap()
	if len(d.Changed) > 0 {
		d.changed(b)
	} else if d.Kind() != NoDifference {
		b.Text(plain, "Readiness, restarts, exits and numbers of probes are the same.")
	}
	b.Gap()
	AddNotes(b, d.Notes)
}

func addPair(b *document.Body, from, to string, p *diff.Difference) {
	switch {
	case p.Same() && len(p.Messages) > 0:
		b.Text(bold, fmt.Sprintf("%s and %s: no difference except in messages", from, to))
		for _, w := range p.Messages {
			b.Text(bad, "- "+w.Of+": "+w.A)
			b.Text(good, "+ "+w.Of+": "+w.B)
		}
	case p.Same():
		b.Text(bold, fmt.Sprintf("%s and %s: no difference", from, to))
	default:
		b.Text(bold, fmt.Sprintf("%s and %s differ from %s%s", from, to, trace.FormatTime(p.First), timingOnly(p)))
		addDiffLines(b, p.Around, "--- "+from, "+++ "+to)
	}
	if len(p.AroundDivergence) > 0 {
		b.Text(bold, fmt.Sprintf("Their behavior, not only their timing, differs from %s:",
			trace.FormatTime(p.Divergence)))
		addDiffLines(b, p.AroundDivergence)
	}
}

func timingOnly(p *diff.Difference) string {
	if p.Diverges {
		return ""
	}
	return ", in timing only"
}

// addDiffLines adds records, with a mark at those of one run only.
func addDiffLines(b *document.Body, lines []diff.Line, heads ...string) {
	records := newRecords(lines, func(l diff.Line) *trace.Record { return l.Record })
	for _, head := range heads {
		records.Line(plain, head)
	}
	for _, l := range lines {
		switch l.Side {
		case diff.A:
			records.add("- ", bad, l.Record)
		case diff.B:
			records.add("+ ", good, l.Record)
		default:
			records.add("  ", plain, l.Record)
		}
	}
	b.Table(&records.Table)
}

// changed adds a table of the measures that differ, with a column for each run.
func (d *Diff) changed(b *document.Body) {
	t := &document.Table{Left: 2, Head: append([]string{"", ""}, d.Names...)}
	for _, r := range d.Changed {
		subject := trace.PodName(r.Pod)
		if r.Container != "" {
			subject += "/" + r.Container
		}
		row := []string{subject, r.What}
		for _, v := range r.Values {
			row = append(row, cmp.Or(v, "-"))
		}
		t.Texts(row...)
	}
	b.Table(t)
}

type jsonDiff struct {
	*Diff
	Same  bool       `json:"same"`
	Error string     `json:"error,omitempty"`
	Pairs []jsonPair `json:"pairs"`
}

type jsonPair struct {
	A       string         `json:"a"`
	B       string         `json:"b"`
	Same    bool           `json:"same"`
	First   *int64         `json:"first,omitempty"`     // ns
	Diverge *int64         `json:"otherwise,omitempty"` // ns
	Records []jsonDiffLine `json:"records,omitempty"`
	// Messages are those that differ, if nothing else does.
	Messages []diff.Message `json:"messages,omitempty"`
}

type jsonDiffLine struct {
	In     diff.Side       `json:"in"`
	Record json.RawMessage `json:"record"`
}

// DiffJSON writes comparisons and their summaries as one JSON object. Times are in nanoseconds.
func DiffJSON(w io.Writer, all []*Diff, summaries []*DiffSummary) error {
	docs := make([]jsonDiff, len(all))
	for i, d := range all {
		docs[i] = jsonDiff{Diff: d, Same: d.Kind() == NoDifference, Pairs: []jsonPair{}}
		if d.Changed == nil {
			d.Changed = []diff.Row{}
		}
		if d.Err != nil {
			docs[i].Error = d.Err.Error()
		}
		for j, p := range d.Pairs {
			docs[i].Pairs = append(docs[i].Pairs, newJSONPair(d.Names[j], d.Names[j+1], p))
		}
	}
	return printable.WriteJSON(w, struct {
		Comparisons []jsonDiff     `json:"comparisons"`
		Summaries   []*DiffSummary `json:"summaries,omitempty"`
	}{docs, summaries})
}

func newJSONPair(a, b string, p *diff.Difference) jsonPair {
	pair := jsonPair{A: a, B: b, Same: p.Same(), Messages: p.Messages}
	if !p.Same() {
		pair.First = new(int64(p.First))
	}
	if p.Diverges {
		pair.Diverge = new(int64(p.Divergence))
	}
	for _, l := range p.Around {
		pair.Records = append(pair.Records, jsonDiffLine{l.Side, trace.AppendJSON(nil, l.Record)})
	}
	return pair
}
