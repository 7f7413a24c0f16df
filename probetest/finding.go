package probetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// finding is what a matcher found in a run, or in a manifest.
type finding struct {
	about      fmt.Stringer // a pod, for example
	got        string       // a sentence without its period, or several lines
	short      string       // got in a line; empty: its first line
	difference string       // what the message of a failed To has in place of got, if not empty

	log         *log // nil: of a manifest
	near, drawn []int
	marks       []int        // indexes of the records that the result depends on
	center      virtual.Time // the message shows the run around this moment
}

// finding returns what a matcher found in the run of the subject.
func (s *subject) finding(got string, center virtual.Time, marks ...int) *finding {
	if added := s.added(); added > 0 { // the times in the text and in the timeline are virtual times of the node
		got += ". The pod was added at " + trace.FormatTime(added)
	}
	f := &finding{about: s, got: got, log: s.pod.log, center: center, marks: marks}
	for i := range s.pod.log.records {
		r := s.record(i)
		ofOther := r.Pod != "" && (r.Pod != s.pod.key || i < s.pod.from)
		if !ofOther && (r.Kind.Observable() || slices.Contains(marks, i)) {
			f.near = append(f.near, i)
		}
	}
	f.drawn = f.near
	return f
}

// finding returns what a matcher found about the object. The message shows the records of
// controllers and of some pods.
func (o *object) finding(got string, center virtual.Time, marks []int, pods ...string) *finding {
	f := &finding{about: o, got: got, log: o.log, center: center, marks: marks}
	for i := range o.log.records {
		r := &o.log.records[i]
		if !r.Kind.Observable() {
			continue
		}
		f.drawn = append(f.drawn, i)
		if r.Kind.Controlled() || slices.Contains(pods, r.Pod) || slices.Contains(marks, i) {
			f.near = append(f.near, i)
		}
	}
	return f
}

// message describes the expectation and the result, and shows the run around the moment.
func (f *finding) message(expected, got string) string {
	if !strings.Contains(got, "\n") {
		got += "."
	}
	head := fmt.Sprintf("Expected\n    %s\n%s.\n%s", f.about, expected, strings.TrimRight(got, "\n"))
	if f.log == nil {
		return head
	}
	return f.log.message(head+"\n", f.near, f.drawn, f.marks, f.center)
}

// line describes the result in a line.
func (f *finding) line() string {
	text, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(f.short, f.got)), "\n")
	text, _, _ = strings.Cut(text, ". The pod was added at ")
	return f.about.String() + ": " + strings.TrimSuffix(text, ":")
}
