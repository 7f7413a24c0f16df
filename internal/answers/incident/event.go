package incident

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// roles are the keys of events, by what they mean, in lower case and without digits and
// punctuation. A key of an object in the event follows that of the object. The keys of the API (v1
// and events.k8s.io) come first, and then those of tools that condense events.
var roles = map[string][]string{
	"name": {"metadataname"}, "id": {"metadatauid"}, "type": {"type", "eventtype"},
	"reason":  {"reason", "event", "eventreason"},
	"message": {"message", "note", "msg", "eventmessage"},
	"count":   {"seriescount", "count", "deprecatedcount", "times"},
	"pod": {"involvedobjectname", "regardingname", "pod", "podname", "name", "object", "objectname",
		"involvedobject"},
	"kind":      {"involvedobjectkind", "regardingkind", "objectkind"},
	"uid":       {"involvedobjectuid", "regardinguid"},
	"namespace": {"involvedobjectnamespace", "regardingnamespace", "objectnamespace", "namespace", "ns"},
	"path":      {"involvedobjectfieldpath", "regardingfieldpath", "objectfieldpath"},
	"container": {"container", "containername"},
	"kubelet":   {"sourcecomponent", "deprecatedsourcecomponent"}, "node": {"sourcehost", "deprecatedsourcehost"},
	"first": {"firsttimestamp", "deprecatedfirsttimestamp", "eventtime", "metadatacreationtimestamp", "first",
		"firstseen"},
	"last": {"serieslastobservedtime", "lasttimestamp", "deprecatedlasttimestamp", "last", "lastseen", "time",
		"timestamp", "date", "ts", "age"},
}

// scalars returns the strings and numbers of an object, and of the objects in it, by their keys in
// the form of roles.
func scalars(fields map[string]json.RawMessage, prefix string, values map[string]string) map[string]string {
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
			scalars(inner, key, values)
		case json.Unmarshal(raw, &text) == nil:
			values[key] = max(values[key], text) // of two keys that differ only in digits
		case raw[0] != '[' && raw[0] != '{' && string(raw) != "0":
			values[key] = max(values[key], string(raw))
		}
	}
	return values
}

// event uses an event of the API, or what a tool has made of one: any object with a message and a
// reason. A pod may have lists of events, which are those of the object around them if they name
// none. It returns false for others.
func (r *reader) event(o *object, kind, namespace, pod, change string, depth int) (used bool) {
	values := scalars(o.fields, "", map[string]string{})
	role := func(name string) string {
		for _, key := range roles[name] {
			if values[key] != "" {
				return values[key]
			}
		}
		return ""
	}
	left := fields{namespace: or(role("namespace"), namespace), name: or(role("pod"), pod), uid: role("uid"),
		kind: role("kind"), count: count0(strings.TrimPrefix(role("count"), "x"))}
	if kind, name, slash := strings.Cut(left.name, "/"); slash {
		left.name = name
		if !isPodKind(kind) {
			left.namespace = or(left.namespace, kind)
		}
	}
	f := &Fact{Place: o.at, Source: FromEvent, Type: role("type"), Reason: role("reason"), Message: role("message"),
		Container: or(role("container"), containerOf(role("path")))}
	switch {
	case kind == "Event", kind == "" && f.Reason != "" && (o.fields["involvedObject"] != nil ||
		o.fields["regarding"] != nil):
	case kind != "" || o.fields["status"] != nil || depth > maxDepth:
		return false
	case isCamel(f.Reason) && f.Message != "" && o.fields["phase"] == nil && o.fields["state"] == nil &&
		(left.name != "" || terms[f.Reason]):
		f.Source, f.AtLeast = FromDescribe, left.count == 0
	default:
		for _, key := range slices.Sorted(maps.Keys(o.fields)) {
			if raw := o.fields[key]; raw[0] == '[' && left.name != "" {
				for _, i := range (item{raw, func(int) Place { return o.at }}).parse().items {
					used = r.event(i.parse(), "", left.namespace, left.name, "", depth+1) || used
				}
			}
		}
		return used
	}
	switch {
	// an event expires after an hour
	case change == "DELETED", f.Source == FromEvent && o.cut && (left.name == "" || f.Reason == ""):
		return true
	case left.kind != "" && left.kind != "Pod" && left.kind != "Node":
		r.others["Event of "+left.kind]++
		return true
	case f.Source == FromEvent && left.name == "":
		r.problem(o.at, true, "the event was not used: it does not name its pod")
		return true
	}
	r.addTimes(f, &left, role)
	if name := role("name"); name != "" && f.Source == FromEvent {
		id := or(role("id"), values["metadatanamespace"]+"/"+name)
		if old := r.events[id]; old != nil {
			f.date(left)
			old.update(f)
			return true
		}
		r.events[id] = f
	}
	r.text.place(f, left)
	if r.text.pod, r.text.event = nil, nil; f.Pod != nil && role("kubelet") == "kubelet" {
		f.Pod.Node = or(f.Pod.Node, role("node"))
	}
	return true
}

// addTimes adds the times of an event to its columns, or the ages.
func (r *reader) addTimes(f *Fact, left *fields, role func(name string) string) {
	for _, name := range []string{"first", "last"} {
		switch text := role(name); {
		case isAge(text):
			left.ages = append(left.ages, parseAge(text))
		case text != "" && !left.addDate(time.RFC3339Nano, text):
			r.problem(f.Place, true, "%.60q is no time of a cluster, such as 2024-05-01T12:00:00Z", text)
		}
	}
	if len(left.dates) > 0 && f.Source == FromEvent {
		left.dates[0] = preciseTime(role("name"), left.dates[0])
	}
}

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
