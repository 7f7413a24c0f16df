package match

import (
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Field is a condition on one field.
type Field struct {
	Name  string
	Match value.Match
}

func (f Field) String() string { return f.Name + ": " + f.Match.String() }

// Fields are conditions on fields, in the order of the file, written FIELD: match, …
type Fields []Field

// Record matches records of a trace, written kind: KIND, FIELD: match, …
type Record struct {
	Kind   trace.Kind
	Fields Fields
}

// Transitions matches the successive values of a field in a window, written FIELD: [v, …].
type Transitions struct {
	Field  string
	Values []value.Match
	Any    bool // any values may follow the last one
}

// Status reports whether the status of a pod meets all conditions, or the status of one of its
// containers if container is not empty. It returns false if the status is nil or has no such
// container.
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

// Match reports whether the record has the kind and meets all conditions.
func (r *Record) Match(rec *trace.Record) bool {
	return rec.Kind == r.Kind && matches(recordFields, r.Fields, rec)
}

// Lookup returns the value of a field of a pod, or of one of its containers if container is not
// empty. It returns false if the status has no such value.
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
	if f.detail != nil {
		return f.detail(from)
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
