package schema

import (
	"reflect"
	"sync"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// Kind is a kind of object in a scenario file.
type Kind struct {
	APIVersion, Name string
	Type             *Type
}

// kinds returns all kinds of objects, Scenario first.
var kinds = sync.OnceValue(func() []Kind {
	kinds, _ := build()
	return kinds
})

// build makes the types, and returns the entries of fields.txt that they use.
func build() ([]Kind, map[string]bool) {
	b := &builder{known: map[reflect.Type]*Type{}, used: map[string]bool{}}
	t := b.of(reflect.TypeFor[scenarios.Scenario]())
	t.Fields = append([]*Field{
		{Name: "apiVersion", Text: b.text("Scenario.apiVersion"), Type: enum("string", []string{format.APIVersion})},
		{Name: "kind", Text: b.text("Scenario.kind"), Type: enum("string", []string{"Scenario"})},
	}, t.Fields...)
	kinds := []Kind{{format.APIVersion, "Scenario", t}}
	for _, k := range manifests.Kinds {
		kinds = append(kinds, Kind{k.APIVersion, k.Kind, b.of(reflect.TypeOf(k.Make()))})
	}
	return kinds, b.used
}
