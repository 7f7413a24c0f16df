package report

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
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

	kind   differenceKind // greatest of the comparisons
	first  string         // about the first comparison of this kind
	seed   int64          // of this comparison
	notes  []string
	replay func(seed int64) string
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
func NewDiffSummary(d *Diff, replay func(seed int64) string) *DiffSummary {
	return &DiffSummary{Scenario: d.Scenario, File: d.File, Line: d.Line, Names: d.Names, notes: d.Notes,
		replay: replay}
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
}

// Write writes the summary: in how many comparisons there is a difference, and which one is the
// first.
func (s *DiffSummary) Write(w io.Writer, pad int, o document.Options) error {
	if s.kind != noDifference {
		pad = 0 // there is more than a line
	}
	line := s.kind.line(s.Scenario, pad, s.Seeds.Label(), s.facts())
	if s.kind != noDifference {
		line.Body = &document.Body{}
		AddNotes(line.Body, s.notes)
		line.Body.Text(plain, fmt.Sprintf("%s: seed %d, %s", firstOf[s.kind], s.seed, s.first))
		line.Body.Command(s.replay(s.seed))
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

var firstOf = map[differenceKind]string{inTiming: "first difference", inBehavior: "first difference in behavior",
	endedEarly: "first run that ended early"}
