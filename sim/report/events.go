package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/sim/trace"
)

// maxEvents is how many rows a table of events has at most; of more, those in the middle are left out.
const maxEvents = 40

// withFrom is the width from which on there is a From column. It says kubelet in each row.
const withFrom = 120

// eventSeries is one event and its repetitions, which the API counts up.
type eventSeries struct {
	first       *trace.Record
	count       int
	since, last time.Duration
}

// Events writes the events of the run as kubectl describe lists them: the same event counted, by the time it
// was last seen. Times count from t=0.
func Events(w io.Writer, run *Run, o Options) error {
	all := collectEvents(run.Records)
	if len(all) == 0 {
		return nil
	}
	severalPods := slices.ContainsFunc(all, func(e *eventSeries) bool { return e.first.Pod != all[0].first.Pod })
	severalContainers := slices.ContainsFunc(all, func(e *eventSeries) bool {
		return e.first.Container != "" && e.first.Container != firstContainer(all)
	})
	rows := [][]string{{"Type", "Reason", "At", "From", "Message"}, {"----", "------", "--", "----", "-------"}}
	for _, e := range all {
		rows = append(rows, []string{e.first.Type, e.first.Reason, e.times(), "kubelet", e.first.Message})
	}
	if severalPods || severalContainers {
		withObject(rows, all)
	}
	if o.width() < withFrom {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 3, 4)
		}
	}
	_, err := io.WriteString(w, o.paint(bold, "Events:")+"\n"+eventTable(rows, o))
	return err
}

func firstContainer(all []*eventSeries) string {
	for _, e := range all {
		if e.first.Container != "" {
			return e.first.Container
		}
	}
	return ""
}

// withObject puts a column before the messages: which pod, and which of its containers.
func withObject(rows [][]string, all []*eventSeries) {
	for i, row := range rows {
		object := []string{"Object", "------"}[min(i, 1)]
		if i > 1 {
			object = trace.PodName(all[i-2].first.Pod)
			if c := all[i-2].first.Container; c != "" {
				object += "/" + c
			}
		}
		rows[i] = slices.Insert(row, len(row)-1, object)
	}
}

func collectEvents(records []trace.Record) []*eventSeries {
	type key struct{ pod, container, typ, reason, message string }
	byKey := map[key]*eventSeries{}
	var all []*eventSeries
	for i := range records {
		r := &records[i]
		if r.Kind != trace.Event {
			continue
		}
		k := key{r.Pod, r.Container, r.Type, r.Reason, r.Message}
		e := byKey[k]
		if e == nil {
			e = &eventSeries{first: r, since: r.T}
			byKey[k] = e
			all = append(all, e)
		}
		e.count++
		e.last = r.T
	}
	slices.SortStableFunc(all, func(a, b *eventSeries) int { return cmp.Compare(a.last, b.last) })
	return all
}

// times is the time at which the event was last seen and over how long it was counted.
func (e *eventSeries) times() string {
	if e.count == 1 {
		return trace.FormatTime(e.last)
	}
	over, unit := e.last-e.since, time.Millisecond
	if over >= 10*time.Second {
		unit = time.Second
	}
	return fmt.Sprintf("%s (x%d over %s)", trace.FormatTime(e.last), e.count, shortDuration(over.Round(unit)))
}

// eventTable aligns rows; their last column is wrapped.
func eventTable(rows [][]string, o Options) string {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			row[i] = trace.Clean(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		if left := len(rows) - maxEvents; left > 1 && i >= 2+maxEvents/2 && i < 2+maxEvents/2+left {
			if i == 2+maxEvents/2 {
				fmt.Fprintf(&b, "  %s %d more\n", o.glyphs().ellipsis, left)
			}
			continue
		}
		line := " "
		for j, width := range widths {
			line += " " + row[j] + strings.Repeat(" ", width-utf8.RuneCountInString(row[j])+1)
		}
		st := plain
		if row[0] == "Warning" {
			st = warn
		}
		indent := utf8.RuneCountInString(line) + 1
		message := wrap(trace.Clean(row[last]), o.width()-indent, 24)
		text := line + " " + strings.Join(message, "\n"+strings.Repeat(" ", indent))
		b.WriteString(o.paint(st, strings.TrimRight(text, " ")) + "\n")
	}
	return b.String()
}

// wrap breaks text into lines of at most width characters, or at least that of least, at blanks where it can.
func wrap(text string, width, least int) []string {
	width = max(width, least)
	var lines []string
	for utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		cut := width
		for i := width; i > width/2; i-- {
			if runes[i] == ' ' {
				cut = i
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(runes[:cut]), " "))
		text = strings.TrimLeft(string(runes[cut:]), " ")
	}
	return append(lines, text)
}
