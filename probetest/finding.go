package probetest

import (
	"fmt"
	"slices"
	"strings"

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
	own := f.own()
	head := fmt.Sprintf("Expected\n    %s\n%s.\n%s\n", f.subject, expected, f.sentence(got))
	return f.subject.pod.log.message(head, own, own, f.marks, f.center)
}

// sentence ends a text of one line with a period. It says when the pod was added if that was after
// t=0, since the times in the text and in the timeline are virtual times of the node.
func (f *finding) sentence(text string) string {
	if strings.Contains(text, "\n") {
		return strings.TrimRight(text, "\n")
	}
	if added := f.subject.added(); added > 0 {
		return text + ". The pod was added at " + trace.FormatTime(added) + "."
	}
	return text + "."
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
