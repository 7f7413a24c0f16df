package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxEvents is the maximum number of rows of a table of events. Longer tables omit rows in the
// middle.
const maxEvents = 40

// withFrom is the minimum width for the From column, which contains "kubelet" in each row.
const withFrom = 120

// EventSeries is an event with its repetitions.
type EventSeries struct {
	First       *trace.Record
	Latest      *trace.Record
	Count       int
	Says        string // of a recording: its times as exactly as they are known
	since, last virtual.Time
	end         virtual.Time // of the run
	pods        map[string]bool
}

// Events writes the events of the run like kubectl describe: one row for equal events, with a
// count, sorted by the latest occurrence. Times count from t=0. Equal events of the replicas of a
// workload share a row. If many pods have events, those of all pods do.
func Events(w io.Writer, run *Run, o Options) error {
	all := run.EventList
	if all == nil {
		all = CollectEvents(o.window(run.Records), run.Until)
	}
	if len(all) == 0 {
		return nil
	}
	severalPods := slices.ContainsFunc(all,
		func(e *EventSeries) bool { return e.First.Pod != all[0].First.Pod || len(e.pods) > 1 })
	severalContainers := slices.ContainsFunc(all, func(e *EventSeries) bool {
		return e.First.Container != "" && e.First.Container != firstContainer(all)
	})
	rows := [][]string{{"Type", "Reason", "At", "From", "Message"}, {"----", "------", "--", "----", "-------"}}
	for _, e := range all {
		rows = append(rows, []string{e.First.Type, e.First.Reason, e.Times(), "kubelet", e.First.Message})
	}
	if severalPods || severalContainers {
		withObject(rows, all)
	}
	if o.width() < withFrom {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 3, 4)
		}
	}
	return o.write(w, o.paint(bold, "Events:")+"\n"+eventTable(rows, o))
}

// window returns the records from o.From to o.To.
func (o Options) window(records []trace.Record) []trace.Record {
	from, _ := slices.BinarySearchFunc(records, o.From,
		func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) })
	records = records[from:]
	if o.To != 0 {
		end, _ := slices.BinarySearchFunc(records, o.To+1,
			func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) })
		records = records[:end]
	}
	return records
}

func firstContainer(all []*EventSeries) string {
	for _, e := range all {
		if e.First.Container != "" {
			return e.First.Container
		}
	}
	return ""
}

// withObject inserts a column with the pod and container before the messages.
func withObject(rows [][]string, all []*EventSeries) {
	for i, row := range rows {
		object := []string{"Object", "------"}[min(i, 1)]
		if i > 1 {
			object = all[i-2].Object()
		}
		rows[i] = slices.Insert(row, len(row)-1, object)
	}
}

// Object returns the pod or the number of pods, and the container of the event, for display.
func (e *EventSeries) Object() string {
	object := namesOf(slices.Sorted(maps.Keys(e.pods)))
	if n := len(e.pods); n > 1 && strings.Contains(object, ", ") {
		object = plural(n, "pod")
	}
	if c := e.First.Container; c != "" {
		object += "/" + c
	}
	return object
}

// NewEventSeries returns an event of a recording that ends at end, with its count.
func NewEventSeries(first, latest *trace.Record, count int, end virtual.Time) *EventSeries {
	return &EventSeries{First: first, Latest: latest, Count: count, since: first.T, last: latest.T, end: end,
		pods: map[string]bool{first.Pod: true}}
}

// CollectEvents returns the events among records of a run that ends at end, sorted by the latest
// occurrence. Equal events of a pod, or of the replicas of a workload, form a series. If many pods
// have events, equal events of all pods form a series.
func CollectEvents(records []trace.Record, end virtual.Time) []*EventSeries {
	type key struct{ pod, container, typ, reason, message string }
	byKey := map[key]*EventSeries{}
	var all []*EventSeries
	together := manyPods(records)
	for i := range records {
		r := &records[i]
		if r.Kind != trace.Event {
			continue
		}
		k := key{r.Pod, r.Container, r.Type, r.Reason, r.Message}
		if prefix, n := ordinal(r.Pod); n >= 0 { // a replica; some messages have its name
			_, name, _ := strings.Cut(r.Pod, "/")
			k.pod, k.message = prefix, strings.ReplaceAll(r.Message, name, "")
		}
		if together {
			k.pod = ""
		}
		e := byKey[k]
		if e == nil {
			e = &EventSeries{First: r, since: r.T, end: end, pods: map[string]bool{}}
			byKey[k] = e
			all = append(all, e)
		}
		e.pods[r.Pod] = true
		e.Count++
		e.last, e.Latest = r.T, r
	}
	slices.SortStableFunc(all, func(a, b *EventSeries) int { return cmp.Compare(a.last, b.last) })
	return all
}

// manyPods reports whether more than maxPods pods have events.
func manyPods(records []trace.Record) bool {
	pods := map[string]bool{}
	for i := range records {
		if r := &records[i]; r.Kind == trace.Event && !pods[r.Pod] {
			pods[r.Pod] = true
		}
	}
	return len(pods) > maxPods
}

// Times formats the latest occurrence of the event, its count and the time between the first and
// latest occurrence.
func (e *EventSeries) Times() string {
	if e.Says != "" {
		return e.Says
	}
	latest := trace.FormatTimeOf(e.end, e.last)
	if e.Count == 1 {
		return latest
	}
	over, unit := e.last.Sub(e.since), time.Millisecond
	if over >= 10*time.Second {
		unit = time.Second
	}
	return fmt.Sprintf("%s (x%d over %s)", latest, e.Count, shortDuration(over.Round(unit)))
}

// eventTable aligns rows and wraps the last column. The first two rows are the header.
func eventTable(rows [][]string, o Options) string {
	widths := make([]int, len(rows[0])-1)
	indent := 2
	for i := range widths {
		for _, row := range rows {
			row[i] = printable.Text(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		indent += widths[i] + 2
	}
	text := func(row []string) string { return eventRow(row, widths, indent, o) }
	var b strings.Builder
	if o.width()-indent < minMessage {
		text = func(row []string) string { return eventItem(row, o) }
	} else {
		b.WriteString(text(rows[0]) + "\n" + text(rows[1]) + "\n")
	}
	rows = rows[2:]
	for i, row := range rows {
		if left := len(rows) - maxEvents; left > 1 && i >= maxEvents/2 && i < maxEvents/2+left {
			if i == maxEvents/2 {
				fmt.Fprintf(&b, "  %s %d more\n", o.glyphs().ellipsis, left)
			}
			continue
		}
		st := plain
		if row[0] == "Warning" {
			st = warn
		}
		b.WriteString(o.paint(st, text(row)) + "\n")
	}
	return b.String()
}

// minMessage is the minimum width of the messages in a table.
const minMessage = 20

// eventRow formats a row of a table whose messages start at column indent.
func eventRow(row []string, widths []int, indent int, o Options) string {
	line := "  "
	for i, width := range widths {
		line += row[i] + strings.Repeat(" ", width-utf8.RuneCountInString(row[i])+2)
	}
	message := document.Wrap(printable.Text(row[len(widths)]), o.width()-indent, minMessage)
	return strings.TrimRight(line+strings.Join(message, "\n"+strings.Repeat(" ", indent)), " ")
}

// eventItem formats a row of output that is too narrow for a table.
func eventItem(row []string, o Options) string {
	text := printable.Text(row[2] + "  " + strings.Join(slices.Concat(row[:2], row[3:]), " "))
	return "  " + strings.Join(document.Wrap(strings.TrimRight(text, " "), o.width()-4, minMessage), "\n    ")
}
