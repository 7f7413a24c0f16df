package schema

import (
	"reflect"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// Kind is a kind of object in a scenario file.
type Kind struct {
	APIVersion, Name string
	Type             *Type
}

// goTypes are the Go types of the kinds.
var goTypes = []struct {
	apiVersion, kind string
	typ              reflect.Type
}{
	{format.APIVersion, "Scenario", reflect.TypeFor[scenarios.Scenario]()},
	{"v1", "Pod", reflect.TypeFor[v1.Pod]()},
	{"apps/v1", "Deployment", reflect.TypeFor[appsv1.Deployment]()},
	{"apps/v1", "StatefulSet", reflect.TypeFor[appsv1.StatefulSet]()},
	{"apps/v1", "DaemonSet", reflect.TypeFor[appsv1.DaemonSet]()},
	{"apps/v1", "ReplicaSet", reflect.TypeFor[appsv1.ReplicaSet]()},
	{"batch/v1", "Job", reflect.TypeFor[batchv1.Job]()},
	{"batch/v1", "CronJob", reflect.TypeFor[batchv1.CronJob]()},
}

// kinds returns all kinds of objects, Scenario first.
var kinds = sync.OnceValue(func() []Kind {
	kinds, _ := build()
	return kinds
})

// build makes the types, and returns the entries of fields.txt that they use.
func build() ([]Kind, map[string]bool) {
	b := &builder{known: map[reflect.Type]*Type{}, used: map[string]bool{}}
	var kinds []Kind
	for _, g := range goTypes {
		t := b.of(g.typ)
		if g.kind == "Scenario" {
			t.Fields = append([]*Field{
				{Name: "apiVersion", Text: b.text("Scenario.apiVersion"), Type: enum("string", []string{g.apiVersion})},
				{Name: "kind", Text: b.text("Scenario.kind"), Type: enum("string", []string{g.kind})},
			}, t.Fields...)
		}
		kinds = append(kinds, Kind{g.apiVersion, g.kind, t})
	}
	return kinds, b.used
}
