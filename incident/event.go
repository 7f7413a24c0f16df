package incident

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event has the fields of an Event of the APIs v1 and events.k8s.io/v1.
type event struct {
	Metadata struct {
		Name, Namespace, UID string
		CreationTimestamp    stamp
	}
	InvolvedObject, Regarding reference
	Reason, Message, Note     string
	Type                      string
	Source, DeprecatedSource  eventSource
	ReportingComponent        string
	ReportingController       string
	FirstTimestamp            stamp
	LastTimestamp             stamp
	EventTime                 stamp
	DeprecatedFirstTimestamp  stamp
	DeprecatedLastTimestamp   stamp
	Count, DeprecatedCount    int
	Series                    *struct {
		Count            int
		LastObservedTime stamp
	}
}

// eventSource is who sent an event: the kubelet names its node.
type eventSource struct{ Component, Host string }

// reference is the object of an event.
type reference struct{ Kind, Namespace, Name, UID, FieldPath string }

// stamp is a time in an object. Its precision is that of its text.
type stamp struct{ Moment }

func (s *stamp) UnmarshalJSON(data []byte) error {
	var text string
	if string(data) == "null" {
		return nil
	}
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a time is no string: %s", short(string(data)))
	}
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("%s is not a time such as 2024-05-01T12:00:00Z", strconv.Quote(short(text)))
	}
	if !plausible(t) {
		return fmt.Errorf("%s is no time of a cluster", short(text))
	}
	s.At = t.UTC()
	_, fraction, _ := strings.Cut(text, ".")
	digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
	s.Within = time.Second
	for ; digits > 0 && s.Within > 1; digits-- {
		s.Within /= 10
	}
	if s.Within == 1 {
		s.Within = 0
	}
	return nil
}

// plausible reports whether Kubernetes can have written a time. Other times would need more than the 292 years of a time.Duration.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2200 }

// short limits a text for a message.
func short(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

func (r *reader) event(o *object, change string) {
	if change == "DELETED" {
		return // an event expires after an hour
	}
	var e event
	if err := json.Unmarshal(o.raw(), &e); err != nil {
		r.problem(o.at, true, "the event was not used: %s", jsonError(err))
		return
	}
	about := e.InvolvedObject
	if about.Name == "" && about.UID == "" {
		about = e.Regarding
	}
	f := &Fact{Place: o.at, Source: FromEvent, Kind: Event, Type: e.Type, Reason: e.Reason, Message: e.Message + e.Note, Container: containerOf(about.FieldPath)}
	switch {
	case o.cut && (about.Name == "" || e.Reason == ""):
		r.problem(o.at, true, "the event was not used: the part that was read does not say what happened to what")
		return
	case about.Kind == "Node":
	case about.Kind != "Pod" && about.Kind != "":
		r.others["Event of "+about.Kind]++
		return
	case about.Name == "":
		r.problem(o.at, true, "the event was not used: it does not name its pod")
		return
	default:
		if f.Pod = r.pod(about.Namespace, about.Name, about.UID, o.at); f.Pod == nil {
			return
		}
		for _, source := range []eventSource{e.Source, e.DeprecatedSource} {
			if source.Component == "kubelet" && f.Pod.Node == "" {
				f.Pod.Node = source.Host
			}
		}
	}
	r.eventTimes(f, &e)
	id := e.Metadata.UID
	if id == "" {
		id = e.Metadata.Namespace + "/" + e.Metadata.Name
	}
	if old := r.events[id]; old != nil && e.Metadata.Name != "" {
		old.update(f)
		return
	}
	if r.add(f) && e.Metadata.Name != "" {
		r.events[id] = f
	}
}

// eventTimes sets the times and the count of an event.
func (r *reader) eventTimes(f *Fact, e *event) {
	first := firstKnown(e.FirstTimestamp, e.DeprecatedFirstTimestamp, e.EventTime, e.Metadata.CreationTimestamp)
	last := firstKnown(e.LastTimestamp, e.DeprecatedLastTimestamp)
	f.Count = max(e.Count, e.DeprecatedCount, 1)
	if e.Count < 0 || e.DeprecatedCount < 0 {
		r.problem(f.Place, false, "the event %s has the count %d, which is no number of events: it counts as 1", f.Reason, min(e.Count, e.DeprecatedCount))
	}
	if e.Series != nil {
		f.Count = max(f.Count, e.Series.Count)
		last = firstKnown(e.Series.LastObservedTime, stamp{last})
	}
	if !last.Known() {
		last = first
	}
	f.When = preciseTime(e.Metadata.Name, first)
	f.Last = last
	switch {
	case !first.Known():
		r.problem(f.Place, false, "the event %s has no time", f.Reason)
		return
	case last.End().Before(first.At):
		r.problem(f.Place, false, "the event %s ended before it began: firstTimestamp %s, lastTimestamp %s", f.Reason, formatTime(first.At), formatTime(last.At))
		f.Last = f.When
	case f.Count == 1:
		f.Last = f.When
	}
	f.Points = []Point{{1, f.When}}
	if f.Count > 1 {
		f.Points = append(f.Points, Point{f.Count, f.Last})
	}
}

func firstKnown(list ...stamp) Moment {
	for _, s := range list {
		if s.Known() {
			return s.Moment
		}
	}
	return Moment{}
}

// preciseTime returns the time in the name of an event. The recorder of client-go names an event after its object and the time of its
// first occurrence, in nanoseconds since 1970 as a hexadecimal number (makeEvent in tools/record/event.go). The time must agree
// with the timestamp of the event.
func preciseTime(name string, first Moment) Moment {
	_, hex, _ := cutLast(name, ".")
	nanos, err := strconv.ParseInt(hex, 16, 64)
	if err != nil || len(hex) < 12 {
		return first
	}
	t := time.Unix(0, nanos).UTC()
	if first.Known() && (t.Before(first.At.Add(-time.Millisecond)) || t.After(first.End().Add(time.Millisecond))) {
		return first
	}
	return Moment{At: t}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// containerOf returns the container in a field path such as spec.containers{app}.
func containerOf(path string) string {
	_, rest, found := strings.Cut(path, "{")
	if !found || !strings.HasPrefix(path, "spec.") {
		return ""
	}
	return strings.TrimSuffix(rest, "}")
}

// update adds another version of the same event, which may be older.
func (f *Fact) update(other *Fact) {
	if f.Count == other.Count || len(f.Points) >= maxPoints {
		return
	}
	if other.Count > f.Count {
		f.Count, f.Last = other.Count, other.Last
	}
	for _, p := range other.Points {
		i, has := slices.BinarySearchFunc(f.Points, p, func(a, b Point) int { return cmp.Compare(a.Count, b.Count) })
		if !has {
			f.Points = slices.Insert(f.Points, i, p)
		}
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
