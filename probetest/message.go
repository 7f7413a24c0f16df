package probetest

import (
	"math"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A message shows this many records before the moment, and this many from the moment on.
const before, behind = 5, 4

// message returns the message of a failure. After the head it shows those of some records that are
// around a moment, with a mark at those that the result depends on, and the timeline of others. All
// are indexes of the log.
func (l *log) message(head string, records, drawn, marks []int, center virtual.Time) string {
	var b strings.Builder
	b.WriteString(head)
	if lines := l.around(records, marks, center); len(lines) > 0 {
		b.WriteString("\n")
		report.Around(&b, lines, document.Options{Width: math.MaxInt})
	}
	var shown []trace.Record
	for _, i := range drawn {
		shown = append(shown, l.records[i])
	}
	o := document.Options{Width: verdict.Width}
	run := &report.Run{Records: shown, Until: l.end}
	run.From, run.To = verdict.Around(center, l.end)
	b.WriteString("\n")
	report.Timeline(&b, run, o)
	b.WriteString("\n" + l.String())
	return printable.Lines(strings.TrimRight(b.String(), "\n"))
}

// around returns the records around a moment.
func (l *log) around(records, marks []int, moment virtual.Time) []report.Line {
	center := 0 // index in records of the first one that is not earlier than the moment
	for n, i := range records {
		if l.records[i].T < moment {
			center = n + 1
		}
	}
	for n, i := range records {
		if l.records[i].T == moment && slices.Contains(marks, i) {
			center = n
			break
		}
	}
	records = records[max(0, center-before):min(len(records), center+behind)]
	var lines []report.Line
	for _, i := range records {
		lines = append(lines, report.Line{Record: &l.records[i], Mark: slices.Contains(marks, i)})
	}
	return lines
}
