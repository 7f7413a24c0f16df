package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxEvents is the maximum number of rows of a table of events. Longer tables omit rows in the
// middle.
const maxEvents = 40

// EventSeries is an event with its repetitions.
type EventSeries struct {
	First  *trace.Record
	Latest *trace.Record
	Count  int
	Says   string       // of a recording: its times as exactly as they are known
	end    virtual.Time // of the run
	pods   map[string]bool
}

// AddEvents adds the events of the run, or of the part of it that is shown, like kubectl describe:
// one row for equal events, with a count, sorted by the latest occurrence. Times count from t=0.
// Equal events of the replicas of a workload share a row. If many pods have events, those of all
// pods do.
func (r *Run) AddEvents(b *document.Body) {
	if all := r.Events(); len(all) > 0 {
		b.Section(document.Section{Title: "Events:"}).Table(EventTable(all, maxEvents))
	}
}

// Events returns the events of the part of the run that is shown.
func (r *Run) Events() []*EventSeries {
	if r.EventList != nil {
		return r.EventList
	}
	return collectEvents(r.shown(), r.Until)
}

// EventTable returns a table of events. If there are more than most, it omits rows in the middle.
func EventTable(all []*EventSeries, most int) *document.Table {
	severalPods := slices.ContainsFunc(all,
		func(e *EventSeries) bool { return e.First.Pod != all[0].First.Pod || len(e.pods) > 1 })
	severalContainers := slices.ContainsFunc(all, func(e *EventSeries) bool {
		return e.First.Container != "" && e.First.Container != firstContainer(all)
	})
	t := &document.Table{Left: 5, Head: []string{"  At", "Type", "Reason", "Object", "Message"}, Ruled: true}
	if !severalPods && !severalContainers {
		t.Head[3] = ""
	}
	kept, left := TrimMiddle(all, most)
	for i, e := range kept {
		if left > 0 && i == most/2 {
			t.Line(plain, fmt.Sprintf("  … %d more", left))
		}
		var cells []document.Cell
		style := plain
		if e.First.Type == "Warning" {
			style = warn
		}
		object := ""
		if t.Head[3] != "" {
			object = e.Object()
		}
		for _, text := range []string{"  " + e.Times(), e.First.Type, e.First.Reason, object, e.First.Message} {
			cells = append(cells, document.Cell{Text: text, Style: style})
		}
		cells[0].Steps = []int64{e.Latest.Step}
		t.Row(cells...)
	}
	return t
}

// shown returns the records of the part of the run that is shown.
func (r *Run) shown() []trace.Record {
	at := func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) }
	from, _ := slices.BinarySearchFunc(r.Records, r.From, at)
	end := len(r.Records)
	if r.To != 0 {
		end, _ = slices.BinarySearchFunc(r.Records, r.To+1, at)
	}
	return r.Records[from:end]
}

func firstContainer(all []*EventSeries) string {
	for _, e := range all {
		if e.First.Container != "" {
			return e.First.Container
		}
	}
	return ""
}

// TrimMiddle omits the middle of a list that is longer than most, and returns how many elements.
func TrimMiddle[T any](list []T, most int) ([]T, int) {
	left := len(list) - most
	if left <= 1 {
		return list, 0
	}
	return append(list[:most/2:most/2], list[len(list)-most/2:]...), left
}

// Object returns the pod or the number of pods, and the container of the event, for display.
func (e *EventSeries) Object() string {
	object := namesOf(slices.Sorted(maps.Keys(e.pods)))
	if n := len(e.pods); n > 1 && strings.Contains(object, ", ") {
		object = Plural(n, "pod")
	}
	if c := e.First.Container; c != "" {
		object += "/" + c
	}
	return object
}

// NewEventSeries returns an event of a recording that ends at end, with its count.
func NewEventSeries(first, latest *trace.Record, count int, end virtual.Time) *EventSeries {
	return &EventSeries{First: first, Latest: latest, Count: count, end: end,
		pods: map[string]bool{first.Pod: true}}
}

// collectEvents returns the events among records of a run that ends at end, sorted by the latest
// occurrence. Equal events of a pod, or of the replicas of a workload, form a series. If many pods
// have events, equal events of all pods form a series.
func collectEvents(records []trace.Record, end virtual.Time) []*EventSeries {
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
			e = &EventSeries{First: r, end: end, pods: map[string]bool{}}
			byKey[k] = e
			all = append(all, e)
		}
		e.pods[r.Pod] = true
		e.Count++
		e.Latest = r
	}
	slices.SortStableFunc(all, func(a, b *EventSeries) int { return cmp.Compare(a.Latest.T, b.Latest.T) })
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
	latest := trace.FormatTimeOf(e.end, e.Latest.T)
	if e.Count == 1 {
		return latest
	}
	over, unit := e.Latest.T.Sub(e.First.T), time.Millisecond
	if over >= 10*time.Second {
		unit = time.Second
	}
	return fmt.Sprintf("%s (x%d over %s)", latest, e.Count, value.Format(over.Round(unit)))
}
