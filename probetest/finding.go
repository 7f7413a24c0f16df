package probetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/report"
	"probesim.dev/scenarios/verdict"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// finding is what a matcher found in a run.
type finding struct {
	subject *subject
	marks   []int        // indexes of the records that the result depends on
	center  virtual.Time // the message shows the run around this moment
}

// message describes the expectation and the result, and shows the run around the moment.
func (f *finding) message(expected, got string) string {
	if f.subject == nil {
		return expected + ": the matcher has not examined anything yet"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Expected\n    %s\n%s.\n%s\n", f.subject, expected, f.sentence(got))
	if lines := f.around(); len(lines) > 0 {
		b.WriteString("\n")
		report.Around(&b, lines, report.Options{Width: math.MaxInt})
	}
	l := f.subject.pod.log
	o := report.Options{Width: verdict.Width}
	o.From, o.To = verdict.Around(f.center, l.end)
	b.WriteString("\n")
	report.Timeline(&b, &report.Run{Records: f.shown(), Until: l.end}, o)
	b.WriteString("\n" + l.String())
	return printable.Lines(strings.TrimRight(b.String(), "\n"))
}

// sentence ends a text of one line with a period. It says when the pod was added if that was after t=0,
// since the times in the text and in the timeline are virtual times of the node.
func (f *finding) sentence(text string) string {
	if strings.Contains(text, "\n") {
		return strings.TrimRight(text, "\n")
	}
	if added := f.subject.added(); added > 0 {
		return text + ". The pod was added at " + trace.FormatTime(added) + "."
	}
	return text + "."
}

// shown returns the records of the pod and the node, for the timeline.
func (f *finding) shown() []trace.Record {
	var list []trace.Record
	for _, i := range f.own() {
		list = append(list, *f.subject.record(i))
	}
	return list
}

// own returns the indexes of the records of the pod and the node that are observable or marked.
func (f *finding) own() []int {
	s := f.subject
	var own []int
	for i := range s.pod.log.records {
		r := s.record(i)
		if r.Pod != "" && (r.Pod != s.pod.key || i < s.pod.from) {
			continue
		}
		if r.Kind.Observable() || slices.Contains(f.marks, i) {
			own = append(own, i)
		}
	}
	return own
}

// A message shows this many records before the moment, and this many from the moment on.
const before, behind = 5, 4

// around returns the records around the moment. Those that the result depends on are marked.
func (f *finding) around() []report.Line {
	s, own := f.subject, f.own()
	center := 0 // index in own of the first record that is not earlier than the moment
	for n, i := range own {
		if s.record(i).T < f.center {
			center = n + 1
		}
	}
	for n, i := range own {
		if s.record(i).T == f.center && slices.Contains(f.marks, i) {
			center = n
			break
		}
	}
	own = own[max(0, center-before):min(len(own), center+behind)]
	var lines []report.Line
	for _, i := range own {
		lines = append(lines, report.Line{Record: s.record(i), Mark: slices.Contains(f.marks, i)})
	}
	return lines
}
