package match

import (
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Field is one field of a matcher and what it must be.
type Field struct {
	Name  string
	Match value.Match
}

// Fields are the fields of a matcher in the order written: FIELD: match, …
type Fields []Field

// Record matches records of the trace: kind: KIND, FIELD: match, …
type Record struct {
	Kind   trace.Kind
	Fields Fields
}

// Transitions matches all values of one field in a window, in order: FIELD: [v, …].
type Transitions struct {
	Field  string
	Values []value.Match
	Any    bool // whatever follows the last value
}

// Status reports whether the status of a pod, or of a container of it if container is not empty, has
// all fields as they must be. A nil status and a container without one match nothing.
func (f Fields) Status(status *trace.PodStatus, container string) bool {
	if status == nil {
		return false
	}
	if container == "" {
		return matches(podFields, f, status)
	}
	c := containerOf(status, container)
	return c != nil && matches(containerFields, f, c)
}

// Match reports whether the record is of the kind and has all fields as they must be.
func (r *Record) Match(rec *trace.Record) bool {
	return rec.Kind == r.Kind && matches(recordFields, r.Fields, rec)
}

// Lookup returns the value of a field of a pod, or of a container of it if container is not empty; false
// if it has none now.
func Lookup(status *trace.PodStatus, container, name string) (value.Scalar, bool) {
	if status == nil {
		return value.Scalar{}, false
	}
	if container == "" {
		return get(podFields, name, status)
	}
	c := containerOf(status, container)
	if c == nil {
		return value.Scalar{}, false
	}
	return get(containerFields, name, c)
}

func get[T any](fields []field[T], name string, from *T) (value.Scalar, bool) {
	f := find(fields, name)
	if f == nil {
		return value.Scalar{}, false
	}
	return f.get(from), true
}

func matches[T any](fields []field[T], want Fields, got *T) bool {
	for _, w := range want {
		v, ok := get(fields, w.Name, got)
		if !ok || !w.Match.Matches(v) {
			return false
		}
	}
	return true
}

func containerOf(status *trace.PodStatus, name string) *trace.ContainerStatus {
	for i := range status.Containers {
		if status.Containers[i].Name == name {
			return &status.Containers[i]
		}
	}
	return nil
}
