package probetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/check"
	"probesim.dev/report"
	"probesim.dev/trace"
)

// finding is what a matcher found.
type finding struct {
	subject *subject
	marks   []int         // records that it is about
	center  time.Duration // around this the run is shown
}

// message says what was expected and what there was, and shows the run around the moment.
func (f *finding) message(expected, got string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Expected\n    %s\n%s.\n%s\n", f.subject, expected, sentence(got))
	if lines := f.around(); len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	}
	l := f.subject.pod.log
	o := report.Options{Width: check.Width}
	o.From, o.To = check.Around(f.center, l.end)
	b.WriteString("\n")
	report.Timeline(&b, &report.Run{Records: f.shown(), Until: l.end}, o)
	b.WriteString("\n" + l.String())
	return strings.TrimRight(b.String(), "\n")
}

// sentence ends a text of one line with a full stop.
func sentence(text string) string {
	if strings.Contains(text, "\n") {
		return strings.TrimRight(text, "\n")
	}
	return text + "."
}

// shown returns the records of the pod, and of the node, that a timeline is drawn of.
func (f *finding) shown() []trace.Record {
	var list []trace.Record
	for _, i := range f.own() {
		list = append(list, *f.subject.record(i))
	}
	return list
}

// own returns the records of the pod, and of the node, that are observable or marked.
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

// before and behind are the numbers of records that are shown around a moment.
const before, behind = 5, 4

// around returns the records of the pod, and of the node, around the moment, with those marked that are meant.
func (f *finding) around() []string {
	s, own := f.subject, f.own()
	center := 0 // place in own of the first record at the moment or after it
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
	times, who := 0, 0
	for _, i := range own {
		times = max(times, len(trace.FormatTime(s.record(i).T)))
		who = max(who, utf8.RuneCountInString(s.record(i).Subject()))
	}
	var lines []string
	for _, i := range own {
		r, mark := s.record(i), " "
		if slices.Contains(f.marks, i) {
			mark = ">"
		}
		lines = append(lines, fmt.Sprintf("  %s %*s  %-*s  %s", mark, times, trace.FormatTime(r.T), who, r.Subject(), r.Summary()))
	}
	return lines
}
