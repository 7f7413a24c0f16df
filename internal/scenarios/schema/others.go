package schema

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Regular expressions for an apiVersion.
const (
	customVersion  = `^[^/]*\.[^/]*/`             // of custom resources, as in manifests.IsCustom
	knativeVersion = `^serving\.knative\.dev/`    // whose templates have fields that pods do not have
	ownVersion     = `^probesim\.dev/`            // of scenarios
	builtinVersion = `^[^/.]*(/|$)|` + ownVersion // of the kinds in Kinds
)

// otherObjects returns what the schema demands of the objects that are neither scenarios nor
// workloads of kinds. Files with manifests have such objects, and probesim ignores them. In the
// groups of the built-in workloads only their kinds are valid, since another one is a typing error.
// A custom resource with a pod template is a workload.
func (w *writer) otherObjects() []object {
	template := w.ref(deployment().object().field("spec").Type.object().field("template").Type)
	return []object{
		{"if": ofVersion(object{"pattern": ownVersion}), "then": kindIn([]string{"Scenario", "ScenarioList"})},
		{"if": ofVersion(object{"const": "v1"}), "then": kindIn(kindsOf(v1.SchemeGroupVersion, v1.AddToScheme))},
		{"if": ofVersion(object{"const": "apps/v1"}),
			"then": kindIn(kindsOf(appsv1.SchemeGroupVersion, appsv1.AddToScheme))},
		{"if": ofVersion(object{"const": "batch/v1"}),
			"then": kindIn(kindsOf(batchv1.SchemeGroupVersion, batchv1.AddToScheme))},
		{
			"if": object{"allOf": []object{
				ofVersion(object{"pattern": customVersion, "not": object{"pattern": knativeVersion}}),
				has("spec", has("template", has("spec", has("containers", object{})))),
			}},
			"then": has("spec", has("template", template)),
		},
	}
}

// deployment returns the type of a Deployment.
func deployment() *Type {
	i := slices.IndexFunc(kinds(), func(k Kind) bool { return k.Name == "Deployment" })
	return kinds()[i].Type
}

// has returns the schema of an object with a field.
func has(name string, value object) object {
	return object{"type": "object", "required": []string{name}, "properties": object{name: value}}
}

func ofVersion(version object) object { return has("apiVersion", version) }

func kindIn(names []string) object {
	return object{"properties": object{"kind": object{"enum": names}}}
}

// kindsOf returns the kinds of objects of a group of the Kubernetes API, and of lists of them,
// sorted.
func kindsOf(group schema.GroupVersion, register func(*runtime.Scheme) error) []string {
	scheme := runtime.NewScheme()
	if err := register(scheme); err != nil {
		panic(err) // no type is registered twice
	}
	known := scheme.KnownTypes(group)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		switch reflect.New(known[name]).Interface().(type) {
		case metav1.Object, metav1.ListInterface:
			names = append(names, name)
		}
	}
	return names
}

// builtin is the condition for an object of a kind in kinds. A custom resource can have a kind of
// the same name.
func builtin(kind string) object {
	if kind == "Scenario" || kind == "ScenarioList" {
		return isKind(kind)
	}
	return object{"allOf": []object{isKind(kind), ofVersion(object{"pattern": builtinVersion})}}
}

// words returns the schema of a string that often has one of these values, which editors propose.
func words(common []string) object {
	return object{"anyOf": []object{{"enum": common}, {"type": "string"}}}
}
