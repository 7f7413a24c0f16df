package report

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
)

// diffSummary summarizes the comparisons of one scenario with several seeds.
type diffSummary struct {
	Scenario string        `json:"scenario"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Names    []string      `json:"versions"`           // of the runs
	Seeds    summary.Seeds `json:"seeds"`              // of all comparisons
	Differ   summary.Seeds `json:"differ,omitempty"`   // of those with a difference
	Behavior summary.Seeds `json:"behavior,omitempty"` // of those with a difference in more than timing
	Broken   summary.Seeds `json:"errors,omitempty"`   // of those with a run that ended early

	worst *Diff // the first that says most
}

func newDiffSummary(list []*Diff) *diffSummary {
	d := list[0]
	s := &diffSummary{Scenario: d.Scenario, File: d.File, Line: d.Line, Names: d.Names, worst: d}
	for _, d := range list {
		kind := d.Kind()
		if kind > s.worst.Kind() {
			s.worst = d
		}
		s.Seeds.Add(*d.Seed)
		switch {
		case kind == EndedEarly:
			s.Broken.Add(*d.Seed)
		case kind == InBehavior:
			s.Behavior.Add(*d.Seed)
			fallthrough
		case kind == InTiming:
			s.Differ.Add(*d.Seed)
		}
	}
	return s
}

// write writes the summary: in how many comparisons there is a difference, and which one is the
// first.
func (s *diffSummary) write(w io.Writer, pad int, o document.Options) error {
	kind := s.worst.Kind()
	line := kind.line(s.Scenario, pad, s.Seeds.Label())
	if kind != NoDifference {
		line = kind.line(s.Scenario, 0, s.Seeds.Label(), s.facts())
		line.Body = &document.Body{}
		AddNotes(line.Body, s.worst.Notes)
		line.Body.Text(plain, fmt.Sprintf("%s: seed %d, %s", kinds[kind].first, *s.worst.Seed, s.worst.summary()))
		line.Body.Command(s.worst.Replay)
	}
	err := document.WriteText(w, o, func(b *document.Body) { b.Item(line) })
	if err == nil && kind != NoDifference {
		_, err = fmt.Fprintln(w)
	}
	return err
}

func (s *diffSummary) facts() string {
	differ, behavior := s.Differ.Count(), s.Behavior.Count()
	parts := []string{fmt.Sprintf("%d of %d differ", differ, s.Seeds.Count())}
	for _, part := range []struct {
		n    int
		what string
	}{{behavior, "in behavior"}, {differ - behavior, "in timing only"}, {s.Broken.Count(), "ended early"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
