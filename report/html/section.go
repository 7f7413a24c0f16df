package html

import (
	"strings"

	"probesim.dev/report"
	"probesim.dev/trace"
)

// section is what the page says of one run.
type section struct {
	*report.Run
	Failed   []*report.Expectation
	Notes    []string
	Chart    *chart
	Text     string // the timeline for those without scripts
	Story    []happening
	Left     int // how much of the story is left out after the first half
	Events   []*report.EventSeries
	LeftOut  int // how many events are left out after the first half
	ErrorIs  string
	Describe string
}

// maxRows is how many rows a table has at most. Of more, those in the middle are left out.
const maxRows = 400

func newSection(run *report.Run) *section {
	s := &section{Run: run, Describe: strings.Join(strings.Fields(trace.Clean(run.Description)), " ")}
	for i := range run.Expectations {
		if e := &run.Expectations[i]; e.Outcome == report.Failed {
			s.Failed = append(s.Failed, e)
		}
	}
	if run.Err != nil {
		s.ErrorIs = run.Err.Error()
	}
	s.Chart, s.Notes = newChart(run)
	var text strings.Builder
	report.Timeline(&text, run, report.Options{Width: 120})
	s.Text = text.String()
	s.Story, s.Left = middle(tell(run.Records))
	explain(run, s.Story)
	s.Events, s.LeftOut = middle(report.CollectEvents(run.Records))
	return s
}

// middle leaves out the middle of a long list and says how much.
func middle[T any](list []T) ([]T, int) {
	left := len(list) - maxRows
	if left <= 0 {
		return list, 0
	}
	return append(list[:maxRows/2:maxRows/2], list[len(list)-maxRows/2:]...), left
}

// Half reports whether a row is the first after what was left out.
func (s *section) Half(i int) bool { return i == maxRows/2 }

// Changes says how many rows the story has, with those that are left out.
func (s *section) Changes() int { return len(s.Story) + s.Left }

// OK says how many of the expectations held.
func (s *section) OK() int {
	n := 0
	for i := range s.Expectations {
		if s.Expectations[i].Outcome == report.OK {
			n++
		}
	}
	return n
}
