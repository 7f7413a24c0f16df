package html

import (
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// section is the data of one run.
type section struct {
	*report.Run
	Failed   []report.Expectation
	Notes    []string
	Chart    *chart
	Text     string // timeline for browsers without scripts
	Story    []change
	Left     int // number of changes omitted after the first half
	Events   []*report.EventSeries
	LeftOut  int // number of events omitted after the first half
	ErrorIs  string
	Describe string
}

// maxRows is the maximum number of rows of a table. Longer tables omit rows in the middle.
const maxRows = 400

func newSection(run *report.Run) *section {
	s := &section{Run: run, Describe: report.Description(run.Description), Failed: report.FailedOf(run.Expectations)}
	if run.Err != nil {
		s.ErrorIs = printable.Lines(run.Err.Error())
	}
	s.Chart, s.Notes = newChart(run, maxRecords)
	s.Notes = append(slices.Clone(run.Notes), s.Notes...)
	var text strings.Builder
	report.Timeline(&text, run, document.Options{Width: 120})
	s.Text = text.String()
	story := changes(run.Records)
	explain(run, story)
	s.Story, s.Left = report.TrimMiddle(merge(story), maxRows)
	s.Events, s.LeftOut = report.TrimMiddle(run.Events(), maxRows)
	return s
}

// Half reports whether row i is the first after the omitted rows.
func (s *section) Half(i int) bool { return i == maxRows/2 }

// Changes returns the number of changes, including omitted ones.
func (s *section) Changes() int { return len(s.Story) + s.Left }

// OK returns the number of expectations that held.
func (s *section) OK() int {
	n := 0
	for i := range s.Expectations {
		if s.Expectations[i].Outcome == report.OK {
			n++
		}
	}
	return n
}
