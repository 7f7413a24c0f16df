package report

import (
	"cmp"
	"fmt"
	"io"
	"unicode/utf8"

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
	Pairs    []*diff.Difference `json:"pairs"`          // each run compared with the next one
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
		case p.Behavior != nil:
			return InBehavior
		case !p.Same:
			k = InTiming
		}
	}
	return k
}

// summary says when runs first differ in timing and in behavior, or why there is no comparison.
func (d *Diff) summary() string {
	if d.Err != nil {
		return d.Err.Error()
	}
	first, behavior := "", ""
	for _, p := range d.Pairs {
		pair := ""
		if len(d.Pairs) > 1 {
			pair = " (" + p.A + ", " + p.B + ")"
		}
		if first == "" && !p.Same {
			first = trace.FormatTime(*p.First) + pair
		}
		if behavior == "" && p.Behavior != nil {
			behavior = trace.FormatTime(*p.Behavior) + pair
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

// Diffs are comparisons, those of one scenario after each other.
type Diffs struct {
	List []*Diff
	Some bool // there are others, which were not made
}

// scenarios returns the comparisons of each scenario, which differ in their seeds. Runs without a
// seed, such as those of variants, stand alone.
func (all *Diffs) scenarios() (groups [][]*Diff) {
	for i, d := range all.List {
		if i == 0 || d.Seed == nil || all.List[i-1].Seed == nil || d.File != all.List[i-1].File ||
			d.Line != all.List[i-1].Line {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], d)
	}
	return groups
}

// Write writes the comparisons as text, lines or json. Text has a single one in full, and a summary
// of a scenario with several seeds.
func (all *Diffs) Write(w io.Writer, format string, o document.Options) error {
	switch {
	case format == "json":
		return all.json(w)
	case format == "text" && len(all.List) == 1 && !all.Some && all.List[0].Err == nil:
		return all.List[0].Text(w, o)
	}
	pad := 0
	for _, d := range all.List {
		pad = max(pad, min(utf8.RuneCountInString(d.Scenario), 48))
	}
	for _, group := range all.scenarios() {
		if format == "text" && len(group) > 1 {
			if err := newDiffSummary(group).write(w, pad, o); err != nil {
				return err
			}
			continue
		}
		for i, d := range group {
			if err := d.line(w, pad, i == 0, o); err != nil {
				return err
			}
		}
	}
	if len(all.List) == 1 && !all.Some {
		return nil
	}
	n := all.Count()
	text := fmt.Sprintf("%d compared: %d same, %d differ", len(all.List), n[NoDifference], n[InTiming]+n[InBehavior])
	if n[InTiming] > 0 {
		text += fmt.Sprintf(", %d of them in timing only", n[InTiming])
	}
	return document.WriteLine(w, plain, text, o)
}

// Count counts the comparisons by kind.
func (all *Diffs) Count() map[Kind]int {
	n := map[Kind]int{}
	for _, d := range all.List {
		n[d.Kind()]++
	}
	return n
}

// line writes one line about a comparison, and its notes.
func (d *Diff) line(w io.Writer, pad int, notes bool, o document.Options) error {
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
	if err := writeLine(w, line, o); err != nil || kind == NoDifference || !notes {
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

// Text writes a comparison in full: the records around the first difference, and a table of the
// measures that changed.
func (d *Diff) Text(w io.Writer, o document.Options) error {
	return document.WriteText(w, o, func(b *document.Body) {
		for _, p := range d.Pairs {
			b.Gap()
			addPair(b, p)
		}
		b.Gap()
		if len(d.Changed) > 0 {
			d.changed(b)
		} else if d.Kind() != NoDifference {
			b.Text(plain, "Readiness, restarts, exits and numbers of probes are the same.")
		}
		b.Gap()
		AddNotes(b, d.Notes)
	})
}

func addPair(b *document.Body, p *diff.Difference) {
	names := p.A + " and " + p.B
	switch {
	case p.Same && len(p.Messages) > 0:
		b.Text(bold, names+": no difference except in messages")
		for _, w := range p.Messages {
			b.Text(bad, "- "+w.Of+": "+w.A)
			b.Text(good, "+ "+w.Of+": "+w.B)
		}
	case p.Same:
		b.Text(bold, names+": no difference")
	case p.Behavior == nil:
		b.Text(bold, names+" differ from "+trace.FormatTime(*p.First)+", in timing only")
	default:
		b.Text(bold, names+" differ from "+trace.FormatTime(*p.First))
	}
	if len(p.Around) > 0 {
		addDiffLines(b, p.Around, "--- "+p.A, "+++ "+p.B)
	}
	if len(p.AroundBehavior) > 0 {
		b.Text(bold, fmt.Sprintf("Their behavior, not only their timing, differs from %s:",
			trace.FormatTime(*p.Behavior)))
		addDiffLines(b, p.AroundBehavior)
	}
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

// json writes the comparisons and the summaries of those with several seeds. Times are in
// nanoseconds.
func (all *Diffs) json(w io.Writer) error {
	type comparison struct {
		*Diff
		Same  bool   `json:"same"`
		Error string `json:"error,omitempty"`
	}
	doc := struct {
		Comparisons []comparison   `json:"comparisons"`
		Summaries   []*diffSummary `json:"summaries,omitempty"`
	}{Comparisons: []comparison{}}
	for _, group := range all.scenarios() {
		for _, d := range group {
			one := comparison{Diff: d, Same: d.Kind() == NoDifference}
			if d.Err != nil {
				one.Error = d.Err.Error()
			}
			doc.Comparisons = append(doc.Comparisons, one)
		}
		if len(group) > 1 {
			doc.Summaries = append(doc.Summaries, newDiffSummary(group))
		}
	}
	return printable.WriteJSON(w, doc)
}
