package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
	"probesim.dev/trace"
)

// Diff compares the runs of one scenario with several versions of Kubernetes.
type Diff struct {
	Scenario string
	File     string
	Line     int
	Seed     *int64             // nil for a run without a seed
	Names    []string           // version of each run
	Pairs    []*diff.Difference // each run compared with the next one
	Changed  []diff.Row         // compares all runs
	Numbers  [][]summary.Pod    // of each run; may be nil after a DiffSummary has them
	Replay   string             // command that repeats the comparison
	Notes    []string           // of all runs; see Run
	Err      error              // set if a run failed, so that there is no comparison
}

// Same reports whether all runs are the same, except for messages.
func (d *Diff) Same() bool {
	for _, p := range d.Pairs {
		if !p.Same() {
			return false
		}
	}
	return d.Err == nil
}

// Diverges reports whether runs differ in more than timing.
func (d *Diff) Diverges() bool {
	return slices.ContainsFunc(d.Pairs, func(p *diff.Difference) bool { return p.Diverges })
}

// DiffLine writes one line about a comparison, with the scenario name padded to pad characters.
func DiffLine(w io.Writer, d *Diff, pad int, o Options) error {
	mark, what := o.paint(good, "same   "), ""
	switch {
	case d.Err != nil:
		mark, what = o.paint(bad, "ERROR  "), "\n  "+strings.ReplaceAll(strings.TrimSpace(d.Err.Error()), "\n", "\n  ")
	case !d.Same():
		mark, what = o.paint(warn, "differs"), "  "+d.summary()
	}
	name := padded(d.Scenario, pad)
	seed := ""
	if d.Seed != nil {
		seed = fmt.Sprintf("  seed %d", *d.Seed)
	}
	text := strings.TrimRight(mark+"  "+name+seed+what, " ") + "\n"
	if o.Indent += 2; !d.Same() { // the notes may explain the difference
		text += o.notes(d.Notes)
	}
	return o.write(w, text)
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
func DiffText(w io.Writer, d *Diff, o Options) error {
	var b strings.Builder
	for i, p := range d.Pairs {
		if i > 0 {
			b.WriteByte('\n')
		}
		o.pair(&b, d.Names[i], d.Names[i+1], p)
	}
	if len(d.Changed) > 0 {
		b.WriteByte('\n')
		b.WriteString(o.changedTable(d))
	} else if !d.Same() {
		b.WriteString("\nReadiness, restarts, exits and numbers of probes are the same.\n")
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n" + o.notes(d.Notes))
	}
	return o.write(w, b.String())
}

func (o Options) pair(b *strings.Builder, from, to string, p *diff.Difference) {
	switch {
	case p.Same() && len(p.Messages) > 0:
		b.WriteString(o.sentence("", fmt.Sprintf("%s and %s: no difference except in messages", from, to), bold))
		for _, w := range p.Messages {
			b.WriteString("- " + o.paint(bad, printable.Text(w.Of+": "+w.A)) + "\n+ " +
				o.paint(good, printable.Text(w.Of+": "+w.B)) + "\n")
		}
	case p.Same():
		b.WriteString(o.sentence("", fmt.Sprintf("%s and %s: no difference", from, to), bold))
	default:
		b.WriteString(o.sentence("", fmt.Sprintf("%s and %s differ from %s%s", from, to, trace.FormatTime(p.First),
			timingOnly(p)), bold))
		b.WriteString("--- " + from + "\n+++ " + to + "\n")
		o.diffLines(b, p.Around)
	}
	if len(p.AroundDivergence) > 0 {
		b.WriteString(o.sentence("", fmt.Sprintf("Their behavior, not only their timing, differs from %s:",
			trace.FormatTime(p.Divergence)), bold))
		o.diffLines(b, p.AroundDivergence)
	}
}

func timingOnly(p *diff.Difference) string {
	if p.Diverges {
		return ""
	}
	return ", in timing only"
}

func (o Options) diffLines(b *strings.Builder, lines []diff.Line) {
	for _, l := range lines {
		mark, st := map[diff.Side]string{diff.Both: "  ", diff.A: "- ", diff.B: "+ "}[l.Side],
			map[diff.Side]style{diff.A: bad, diff.B: good}[l.Side]
		text := trace.FormatTime(l.Record.T) + "  " + l.Record.Subject() + "  " + l.Record.Summary()
		for i, line := range document.Wrap(text, o.width()-6, 20) {
			if i > 0 {
				line = "    " + line
			}
			b.WriteString(mark + o.paint(st, line) + "\n")
		}
	}
}

// changedTable returns a table of the measures that differ, with a column for each run.
func (o Options) changedTable(d *Diff) string {
	t := &Table{Left: 2 + len(d.Names)}
	t.Row(cells(append([]string{"", ""}, d.Names...)...)...)
	for _, r := range d.Changed {
		subject := trace.PodName(r.Pod)
		if r.Container != "" {
			subject += "/" + r.Container
		}
		row := []string{subject, r.What}
		for _, v := range r.Values {
			row = append(row, cmp.Or(v, "-"))
		}
		t.Row(cells(row...)...)
	}
	var b strings.Builder
	t.Write(&b, Options{Width: math.MaxInt, Color: o.Color})
	return b.String()
}

func cells(texts ...string) []Cell {
	list := make([]Cell, len(texts))
	for i, text := range texts {
		list[i].Text = text
	}
	return list
}

type jsonDiffs struct {
	Comparisons []jsonDiff        `json:"comparisons"`
	Summaries   []jsonDiffSummary `json:"summaries,omitempty"`
}

type jsonDiff struct {
	Scenario string     `json:"scenario"`
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Seed     *int64     `json:"seed,omitempty"`
	Versions []string   `json:"versions"`
	Same     bool       `json:"same"`
	Error    string     `json:"error,omitempty"`
	Pairs    []jsonPair `json:"pairs"`
	Changed  []diff.Row `json:"changed"`
	Notes    []string   `json:"notes,omitempty"`
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
	In     string          `json:"in"` // both, a or b
	Record json.RawMessage `json:"record"`
}

// DiffJSON writes comparisons and their summaries as one JSON object. Times are in nanoseconds.
func DiffJSON(w io.Writer, all []*Diff, summaries []*DiffSummary) error {
	docs := make([]jsonDiff, len(all))
	for i, d := range all {
		docs[i] = jsonDiff{Scenario: d.Scenario, File: d.File, Line: d.Line, Seed: d.Seed, Versions: d.Names,
			Same: d.Same(), Pairs: []jsonPair{}, Changed: append([]diff.Row{}, d.Changed...), Notes: d.Notes}
		if d.Err != nil {
			docs[i].Error = d.Err.Error()
		}
		for j, p := range d.Pairs {
			docs[i].Pairs = append(docs[i].Pairs, newJSONPair(d.Names[j], d.Names[j+1], p))
		}
	}
	return WriteJSON(w, jsonDiffs{docs, jsonDiffSummaries(summaries)})
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
		in := map[diff.Side]string{diff.Both: "both", diff.A: "a", diff.B: "b"}[l.Side]
		pair.Records = append(pair.Records, jsonDiffLine{in, trace.AppendJSON(nil, l.Record)})
	}
	return pair
}
