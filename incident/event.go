package incident

import (
	"encoding/json"
	"fmt"
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
	InvolvedObject, Regarding                         reference
	Type, Reason, Message, Note                       string
	Source, DeprecatedSource                          struct{ Component, Host string }
	FirstTimestamp, LastTimestamp, EventTime          stamp
	DeprecatedFirstTimestamp, DeprecatedLastTimestamp stamp
	Count, DeprecatedCount                            int
	Series                                            struct {
		Count            int
		LastObservedTime stamp
	}
}

// reference is the object of an event.
type reference struct{ Kind, Namespace, Name, UID, FieldPath string }

// stamp is a time in an object. Its precision is that of its text.
type stamp struct{ Moment }

func (s *stamp) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text == "" {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !plausible(t) {
		return fmt.Errorf("%.60q is no time of a cluster, such as 2024-05-01T12:00:00Z", text)
	}
	s.Moment = Moment{t.UTC(), time.Second}
	_, fraction, _ := strings.Cut(text, ".")
	for ; fraction != "" && digit(fraction[0]) && s.Within > 0; fraction = fraction[1:] {
		s.Within = s.Within / 10 / 2 * 2 // 0 from the ninth digit on
	}
	return nil
}

// plausible reports whether Kubernetes can have written a time. Other times would need more than the 292 years of a time.Duration.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2200 }

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
		return // a problem says that the text is cut off
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
		for _, source := range []struct{ Component, Host string }{e.Source, e.DeprecatedSource} {
			if source.Component == "kubelet" {
				f.Pod.Node = or(f.Pod.Node, source.Host)
			}
		}
	}
	r.eventTimes(f, &e)
	id := or(e.Metadata.UID, e.Metadata.Namespace+"/"+e.Metadata.Name)
	old := r.events[id]
	switch {
	case e.Metadata.Name == "":
		r.add(f)
	case old != nil:
		old.update(f)
	case r.add(f):
		r.events[id] = f
	}
}

// eventTimes sets the times and the count of an event.
func (r *reader) eventTimes(f *Fact, e *event) {
	first := firstKnown(e.FirstTimestamp, e.DeprecatedFirstTimestamp, e.EventTime, e.Metadata.CreationTimestamp)
	last := firstKnown(e.Series.LastObservedTime, e.LastTimestamp, e.DeprecatedLastTimestamp, stamp{first})
	f.Count = max(e.Count, e.DeprecatedCount, e.Series.Count, 1)
	f.CountShown = max(e.Count, e.DeprecatedCount, e.Series.Count) > 0
	if least := min(e.Count, e.DeprecatedCount); least < 0 {
		r.problem(f.Place, false, "the event %s has the count %d, which is no number of events: it counts as 1", f.Reason, least)
	}
	f.When, f.Last = preciseTime(e.Metadata.Name, first), last
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
	f.setPoints()
}

func firstKnown(list ...stamp) Moment {
	for _, s := range list {
		if s.Known() {
			return s.Moment
		}
	}
	return Moment{}
}

// preciseTime returns the time in the name of an event. The recorder of client-go names an event after its object and the time of its first occurrence, in
// nanoseconds since 1970 as a hexadecimal number (makeEvent in tools/record/event.go). The time must agree with the timestamp of the event.
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

// update adds a newer version of the same event.
func (f *Fact) update(newer *Fact) {
	if newer.Count > f.Count && len(f.Points) < maxPoints {
		f.Count, f.Last = newer.Count, newer.Last
		f.Points = append(f.Points, Point{newer.Count, newer.Last})
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
