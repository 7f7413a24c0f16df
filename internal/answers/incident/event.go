package incident

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lists has the words of lists.txt. Some are the keys of events, by what they mean.
var lists = func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(table("lists")) {
		if words := strings.Fields(line); len(words) > 0 {
			all[words[0]] = append(all[words[0]], words[1:]...)
		}
	}
	return all
}()

// listed returns the set of the words of a list.
func listed(name string) map[string]bool { return wordSet(strings.Join(lists[name], " ")) }

// eventValues are the strings and numbers of an event, by their keys in the form of roles.
type eventValues map[string]string

// add adds the strings and numbers of an object, and of the objects in it.
func (values eventValues) add(fields map[string]json.RawMessage, prefix string) {
	for key, raw := range fields {
		key = prefix + strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return -1
			}
			return c
		}, strings.ToLower(key))
		var inner map[string]json.RawMessage
		var text string
		switch {
		case raw[0] == '{' && prefix == "" && json.Unmarshal(raw, &inner) == nil:
			values.add(inner, key)
		case json.Unmarshal(raw, &text) == nil:
			values[key] = max(values[key], text) // of two keys that differ only in digits
		case raw[0] != '[' && raw[0] != '{' && string(raw) != "0":
			values[key] = max(values[key], string(raw))
		}
	}
}

// role returns the value of the first key of a role.
func (values eventValues) role(name string) string {
	for _, key := range lists[name] {
		if values[key] != "" {
			return values[key]
		}
	}
	return ""
}

// columns returns the names in an event. Those that it lacks are those of the object around it.
func (values eventValues) columns(around columns) columns {
	c := columns{uid: values.role("uid"), kind: values.role("kind"),
		namespace: cmp.Or(values.role("namespace"), around.namespace), name: cmp.Or(values.role("pod"), around.name),
		count: count0(strings.TrimPrefix(values.role("count"), "x"))}
	if kind, name, slash := strings.Cut(c.name, "/"); slash {
		c.name = name
		if !isPodKind(kind) {
			c.namespace = cmp.Or(c.namespace, kind)
		}
	}
	return c
}

// event uses an event of the API, or an event that a tool has condensed: any object with a message
// and a reason. A pod may have lists of events, which are those of the object around them if they
// name none. It returns false for others.
func (r *reader) event(o *object, kind string, around columns, change string, depth int) bool {
	values := eventValues{}
	values.add(o.fields, "")
	left := values.columns(around)
	f := &Fact{Place: o.at, Source: FromEvent, Type: values.role("type"), Reason: values.role("reason"),
		Message: values.role("message"), Container: cmp.Or(values.role("container"), containerOf(values.role("path")))}
	has := func(field string) bool { return o.fields[field] != nil }
	switch {
	case kind == "Event", kind == "" && f.Reason != "" && (has("involvedObject") || has("regarding")):
	case kind != "" || has("status") || depth > maxDepth:
		return false
	case isCamel(f.Reason) && f.Message != "" && !has("phase") && !has("state") && (left.name != "" || terms[f.Reason]):
		f.Source, f.AtLeast = FromDescribe, left.count == 0
	default:
		return left.name != "" && r.eventLists(o, left, depth+1)
	}
	r.useEvent(o, f, left, values, change)
	return true
}

// eventLists uses the events in the lists of an object. It returns false if there are none.
func (r *reader) eventLists(o *object, around columns, depth int) (used bool) {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if raw := o.fields[key]; raw[0] == '[' {
			pod := columns{namespace: around.namespace, name: around.name}
			for _, i := range (item{raw, func(int) Place { return o.at }}).parse().items {
				used = r.event(i.parse(), "", pod, "", depth) || used
			}
		}
	}
	return used
}

// useEvent adds an event, or updates an older version of it.
func (r *reader) useEvent(o *object, f *Fact, left columns, values eventValues, change string) {
	named := f.Source != FromEvent || left.name != ""
	switch {
	case change == "DELETED", o.cut && (!named || f.Reason == ""): // an event expires after an hour
		return
	case left.kind != "" && left.kind != "Pod" && left.kind != "Node" && !ofWorkload[f.Reason]:
		r.others["Event of "+left.kind]++
		return
	case !named:
		r.problem(o.at, true, "the event was not used: it does not name its pod")
		return
	}
	r.addTimes(f, &left, values)
	if name := values.role("name"); name != "" && f.Source == FromEvent {
		id := cmp.Or(values.role("id"), values["metadatanamespace"]+"/"+name)
		if old := r.events[id]; old != nil {
			f.date(left)
			old.update(f)
			return
		}
		r.events[id] = f
	}
	r.text.place(f, left)
	if r.text.pod, r.text.event = nil, nil; f.Pod != nil && values.role("kubelet") == "kubelet" {
		f.Pod.Node = cmp.Or(f.Pod.Node, values.role("node"))
	}
}

// addTimes adds the times of an event to its columns, or the ages.
func (r *reader) addTimes(f *Fact, left *columns, values eventValues) {
	for _, name := range []string{"first", "last"} {
		switch text := values.role(name); {
		case isAge(text):
			left.ages = append(left.ages, parseAge(text))
		case text != "" && !left.addDate(time.RFC3339Nano, text) && !left.addDate(goTime, text):
			r.problem(f.Place, true, "%.60q is no time of a cluster, such as 2024-05-01T12:00:00Z", text)
		}
	}
	if len(left.dates) > 0 && f.Source == FromEvent {
		left.dates[0] = preciseTime(values.role("name"), left.dates[0])
	}
}

// goTime is how Go prints a time.
const goTime = "2006-01-02 15:04:05 -0700 MST"

// plausible reports whether Kubernetes can have written a time. Other times would need more than
// the 292 years of a time.Duration.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2200 }

// preciseTime returns the time in the name of an event. The recorder of client-go names an event
// after its object and the time of its first occurrence, in nanoseconds since 1970 as a hexadecimal
// number (makeEvent in tools/record/event.go). The time must agree with the timestamp of the event.
func preciseTime(name string, first Moment) Moment {
	_, hex, _ := cutLast(name, ".")
	nanos, err := strconv.ParseInt(hex, 16, 64)
	t := time.Unix(0, nanos).UTC()
	if err != nil || len(hex) < 12 || t.Before(first.At.Add(-time.Millisecond)) ||
		t.After(first.End().Add(time.Millisecond)) {
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
