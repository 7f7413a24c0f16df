package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
	"probesim.dev/trace"
)

// DiffSummary summarizes the comparisons of one scenario with several seeds.
type DiffSummary struct {
	Scenario string        `json:"scenario"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Names    []string      `json:"versions"`           // of the runs
	Seeds    summary.Seeds `json:"seeds"`              // of all comparisons
	Differ   summary.Seeds `json:"differ,omitempty"`   // of those with a difference
	Behavior summary.Seeds `json:"behavior,omitempty"` // of those with a difference in more than timing
	Broken   summary.Seeds `json:"errors,omitempty"`   // of those with a run that ended early

	versions []*summary.Summary // one for each version
	changes  []*summary.Summary // the differences between each version and the next
	kind     differenceKind     // greatest of the comparisons
	first    string             // about the first comparison of this kind
	seed     int64              // of this comparison
	notes    []string
	replay   func(seed int64) string
}

// differenceKind says how far runs differ. A greater kind tells a reader more.
type differenceKind int

const (
	noDifference differenceKind = iota
	inTiming
	inBehavior
	endedEarly
)

func (d *Diff) kind() differenceKind {
	switch {
	case d.Err != nil:
		return endedEarly
	case d.Diverges():
		return inBehavior
	case !d.Same():
		return inTiming
	}
	return noDifference
}

// NewDiffSummary returns an empty summary of comparisons like d. replay returns the command that
// repeats the comparison with a seed.
func NewDiffSummary(d *Diff, groups []summary.Group, replay func(seed int64) string) *DiffSummary {
	s := &DiffSummary{Scenario: d.Scenario, File: d.File, Line: d.Line, Names: d.Names, notes: d.Notes, replay: replay}
	for i := range d.Names {
		s.versions = append(s.versions, summary.New(groups))
		if i > 0 {
			s.changes = append(s.changes, summary.New(groups))
		}
	}
	return s
}

// Add adds the comparison with a seed.
func (s *DiffSummary) Add(d *Diff) {
	seed := *d.Seed
	s.Seeds.Add(seed)
	if k := d.kind(); k > s.kind {
		s.kind, s.first, s.seed = k, d.summary(), seed
	}
	if d.Err != nil {
		s.Broken.Add(seed)
		return
	}
	if !d.Same() {
		s.Differ.Add(seed)
	}
	if d.Diverges() {
		s.Behavior.Add(seed)
	}
	for i, pods := range d.Numbers {
		s.versions[i].Add(seed, pods)
		if i > 0 {
			s.changes[i-1].Add(seed, summary.Differences(d.Numbers[i-1], pods))
		}
	}
}

// Write writes the summary: in how many comparisons there is a difference, and the distributions of
// the numbers that differ.
func (s *DiffSummary) Write(w io.Writer, pad int, o document.Options) error {
	if s.kind != noDifference {
		pad = 0 // there is more than a line
	}
	line := s.kind.line(s.Scenario, pad, s.Seeds.Label(), s.facts())
	if s.kind != noDifference {
		line.Body = &document.Body{}
		addNotes(line.Body, s.notes)
		s.command(line.Body, fmt.Sprintf("%s: seed %d, %s", firstOf[s.kind], s.seed, s.first), s.seed)
		s.table(line.Body)
	}
	if err := text(w, o, func(b *document.Body) { b.Item(line) }); err != nil || s.kind == noDifference {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (s *DiffSummary) facts() string {
	if len(s.Differ)+len(s.Broken) == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%d of %d differ", s.Differ.Count(), s.Seeds.Count())}
	behavior := s.Behavior.Count()
	if behavior > 0 {
		parts = append(parts, fmt.Sprintf("%d in behavior", behavior))
	}
	if n := s.Differ.Count() - behavior; n > 0 {
		parts = append(parts, fmt.Sprintf("%d in timing only", n))
	}
	if n := s.Broken.Count(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d ended early", n))
	}
	return strings.Join(parts, ", ")
}

// compared has the distributions of one number of a pod or container that differs between versions.
type compared struct {
	subject, pod, container string
	versions                []Statistic
	changes                 []Statistic
}

// compared returns the numbers that differ, in the order of the pods.
func (s *DiffSummary) compared() []compared {
	var list []compared
	for _, p := range s.versions[0].Pods {
		list = append(list, s.differing(PodsLabel(p), p.Name, "")...)
		for _, c := range p.Shown() {
			if !c.Equal(&p.Statistics) {
				list = append(list, s.differing(trace.PodName(p.Name)+"/"+c.Name, p.Name, c.Name)...)
			}
		}
	}
	return list
}

func (s *DiffSummary) differing(subject, pod, container string) []compared {
	var list []compared
	for i := range allRows(&summary.Statistics{}) {
		c := compared{subject: subject, pod: pod, container: container}
		differs := false
		for _, v := range s.versions {
			c.versions = append(c.versions, allRows(v.Of(pod, container))[i])
		}
		for _, v := range s.changes {
			r := allRows(v.Of(pod, container))[i]
			differs = differs || r.Nonzero() > 0
			c.changes = append(c.changes, r)
		}
		if differs {
			list = append(list, c)
		}
	}
	return list
}

// table adds the distributions that differ, the versions below each other, with the differences per
// seed.
func (s *DiffSummary) table(b *document.Body) {
	list := s.compared()
	if len(list) == 0 {
		b.Text(plain, "Restarts, time to Ready and outages are the same with each seed.")
		return
	}
	t := &document.Table{Left: 1, Head: distributionHead}
	for _, c := range list {
		t.Line(bold, c.subject+" "+c.versions[0].Label)
		for i, v := range c.versions {
			if v.Count() > 0 {
				t.Row(v.cells("  "+s.Names[i], plainly(v.Text))...)
			}
		}
		for i, v := range c.changes {
			if v.Count() == 0 {
				continue
			}
			label := "  change"
			if len(c.changes) > 1 {
				label = "  " + s.Names[i] + " to " + s.Names[i+1]
			}
			row := v.cells(label, plainly(v.change))
			if v.Nonzero() == 0 {
				t.Row(row...)
				continue
			}
			greatest, seed := v.Greatest()
			t.Row(append(row[:5], document.Cell{Text: fmt.Sprint(seed), Style: dim})...)
			t.Line(dim, fmt.Sprintf("    %d of %d differ; greatest change %s with seed %d", v.Nonzero(), v.Count(),
				v.change(greatest), seed))
		}
	}
	b.Table(t)
	greatest := list[0].greatest()
	_, seed := greatest.Greatest()
	b.Gap()
	s.command(b, fmt.Sprintf("seed %d has the greatest change of %s %s", seed, list[0].subject, greatest.Label), seed)
}

// plainly returns cells without a style.
func plainly(text func(int64) string) func(int64) document.Cell {
	return func(n int64) document.Cell { return document.Cell{Text: text(n)} }
}

// command adds a sentence about a comparison, and the command that repeats it.
func (s *DiffSummary) command(b *document.Body, text string, seed int64) {
	b.Text(plain, text)
	b.Command(s.replay(seed))
}

var firstOf = map[differenceKind]string{inTiming: "first difference", inBehavior: "first difference in behavior",
	endedEarly: "first run that ended early"}

// greatest returns the pair of versions with the greatest change.
func (c *compared) greatest() Statistic {
	return slices.MaxFunc(c.changes, func(a, b Statistic) int { return cmp.Compare(a.farthest(), b.farthest()) })
}

func (r *Statistic) farthest() int64 {
	if r.Count() == 0 {
		return -1
	}
	v, _ := r.Greatest()
	return max(v, -v)
}

// change formats a difference for people, with its sign.
func (r *Statistic) change(v int64) string {
	switch {
	case v > 0:
		return "+" + r.Text(v)
	case v < 0:
		return "-" + r.Text(-v)
	}
	return r.Text(0)
}

type jsonDiffSummary struct {
	*DiffSummary
	Numbers []jsonComparedRow `json:"numbers"`
}

type jsonComparedRow struct {
	Pod       string             `json:"pod"`
	Container string             `json:"container,omitempty"`
	What      string             `json:"what"`
	Versions  []*summary.Figures `json:"versions"`
	Changes   []*jsonChange      `json:"changes"`
}

// jsonChange is the distribution of the differences between two versions. A value is null if only
// one version has the pod Ready.
type jsonChange struct {
	*summary.Figures
	Differ       int    `json:"differ"`
	Greatest     *int64 `json:"greatest"`
	GreatestSeed int64  `json:"greatestSeed"`
}

func jsonDiffSummaries(all []*DiffSummary) []jsonDiffSummary {
	var docs []jsonDiffSummary
	for _, s := range all {
		doc := jsonDiffSummary{s, []jsonComparedRow{}}
		for _, c := range s.compared() {
			row := jsonComparedRow{Pod: c.pod, Container: c.container, What: c.versions[0].Key}
			for _, v := range c.versions {
				row.Versions = append(row.Versions, v.Figures())
			}
			for _, v := range c.changes {
				row.Changes = append(row.Changes, newJSONChange(v.Distribution))
			}
			doc.Numbers = append(doc.Numbers, row)
		}
		docs = append(docs, doc)
	}
	return docs
}

func newJSONChange(d *summary.Distribution) *jsonChange {
	if d.Count() == 0 {
		return nil
	}
	greatest, seed := d.Greatest()
	return &jsonChange{d.Figures(), d.Nonzero(), summary.OrNil(greatest), seed}
}
