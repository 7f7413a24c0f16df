package match

import (
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
)

// Described describes a field that a matcher can have, for documentation and schemas.
type Described struct {
	Name  string
	Type  value.Type
	Words []string // the only possible values; nil: any
}

// PodFields returns the fields of the status of a pod.
func PodFields() []Described { return describe(podFields) }

// ContainerFields returns the fields of the status of a container.
func ContainerFields() []Described { return describe(containerFields) }

// RecordFields returns the fields of all records, without the kind. Kinds returns the fields of
// each kind.
func RecordFields() []Described { return describe(recordFields) }

// RecordKinds returns the names of the kinds of records, observable kinds first.
func RecordKinds() []string {
	return printable.Words(table, func(k Kind) string { return string(k.Kind) })
}

func describe[T any](fields []field[T]) []Described {
	var list []Described
	for _, f := range fields {
		list = append(list, Described{f.name, f.typ, slices.Clone(f.words)})
	}
	return list
}
