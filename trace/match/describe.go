package match

import (
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Described is a field that can be matched, for documentation.
type Described struct {
	Name  string
	Type  value.Type
	Words []string // the only values, if there are such
}

// PodFields are the fields of the status of a pod.
func PodFields() []Described { return describe(podFields) }

// ContainerFields are the fields of the status of a container.
func ContainerFields() []Described { return describe(containerFields) }

// RecordFields are the fields of records but for their kind. Which of them a record has is said by FieldsOf.
func RecordFields() []Described { return describe(recordFields) }

// RecordKinds are the kinds of records, the observable ones first.
func RecordKinds() []string { return kinds() }

// FieldsOf are the names of the fields that records of a kind have.
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
