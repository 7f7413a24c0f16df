package match

import (
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Described describes a field of a matcher, for documentation.
type Described struct {
	Name  string
	Type  value.Type
	Words []string // the possible values of a text; nil if any is possible
}

// PodFields returns the fields of the status of a pod.
func PodFields() []Described { return describe(podFields) }

// ContainerFields returns the fields of the status of a container.
func ContainerFields() []Described { return describe(containerFields) }

// RecordFields returns the fields of records, except their kind. FieldsOf returns the fields of each kind.
func RecordFields() []Described { return describe(recordFields) }

// RecordKinds returns the kinds of records, the observable ones first.
func RecordKinds() []string { return kinds() }

// FieldsOf returns the names of the fields of a kind of record.
func FieldsOf(kind string) []string {
	fields, _ := fieldsOf(trace.Kind(kind))
	return slices.Clone(fields)
}

func describe[T any](fields []field[T]) []Described {
	var list []Described
	for _, f := range fields {
		list = append(list, Described{f.name, f.typ, slices.Clone(f.words)})
	}
	return list
}
