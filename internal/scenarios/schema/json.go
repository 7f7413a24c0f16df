package schema

import (
	"encoding/json"
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

// JSON returns the JSON Schema (draft-07) of one document of a scenario file or of a file with
// manifests: a Scenario, a workload, another object, or a list of them. The schema checks each
// field by itself. Only loading a file checks references, such as the names of containers.
func JSON() ([]byte, error) {
	w := &writer{definitions: map[string]any{}}
	data, err := json.MarshalIndent(w.root(kinds()), "", " ")
	return append(data, '\n'), err
}

// writer writes schemas and collects the definitions of objects.
type writer struct{ definitions map[string]any }

type object = map[string]any

// root returns the schema of a document. The other fields depend on the kind.
func (w *writer) root(kinds []Kind) object {
	var names, apiVersions []string
	var cases []object
	add := func(apiVersion, kind string, then object) {
		if names = append(names, kind); !slices.Contains(apiVersions, apiVersion) {
			apiVersions = append(apiVersions, apiVersion)
		}
		cases = append(cases, object{"if": builtin(kind), "then": then})
	}
	for _, k := range kinds {
		add(k.APIVersion, k.Name, object{"allOf": []object{w.ref(k.Type), isOf(k.APIVersion)}})
		items := object{"allOf": []object{w.ref(k.Type), optional(k)}}
		add(k.APIVersion, k.Name+"List", list(k.APIVersion, items))
	}
	add("v1", "List", list("v1", object{"$ref": "#"}))
	cases = append(cases, w.otherObjects()...)
	return object{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"$id":     "https://probesim.dev/schema.json",
		"title":   "probesim scenario file",
		"description": "A document of a scenario file: a Scenario, or a workload for the scenarios. Other objects of " +
			"a manifest are ignored.",
		"type":        []string{"object", "null"},
		"required":    []string{"apiVersion", "kind"},
		"properties":  object{"apiVersion": words(apiVersions), "kind": words(names)},
		"allOf":       cases,
		"definitions": w.definitions,
	}
}

func isKind(kind string) object {
	return object{"type": "object", "required": []string{"kind"}, "properties": object{"kind": object{"const": kind}}}
}

func isOf(apiVersion string) object {
	return object{"properties": object{"apiVersion": object{"const": apiVersion}}}
}

// optional allows the items of a list to leave out apiVersion and kind, or to repeat the values of
// the list.
func optional(k Kind) object {
	return object{"properties": object{"apiVersion": object{"enum": []any{k.APIVersion, nil}},
		"kind": object{"enum": []any{k.Name, nil}}}}
}

func list(apiVersion string, items object) object {
	return object{
		"properties": object{"apiVersion": object{"const": apiVersion}, "kind": true, "metadata": true,
			"items": object{"type": []string{"array", "null"}, "items": items}},
		"additionalProperties": false,
	}
}

// ref returns the schema of a type. For an object, this is a reference to a definition.
func (w *writer) ref(t *Type) object {
	switch {
	case t.List:
		return object{"type": []string{"array", "null"}, "items": w.ref(t.Elem)}
	case t.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": w.ref(t.Elem)}
	case t.id == "":
		return orNull(t.value)
	}
	if _, has := w.definitions[t.id]; !has {
		w.definitions[t.id] = object{} // for recursive types
		w.definitions[t.id] = w.definition(t)
	}
	return object{"$ref": "#/definitions/" + t.id}
}

// orNull allows null too. An empty value in YAML is null, and means that the field is not set.
func orNull(value object) object {
	if len(value) == 0 {
		return value
	}
	if name, isType := value["type"].(string); isType {
		with := maps.Clone(value)
		with["type"] = []string{name, "null"}
		return with
	}
	return object{"anyOf": []object{value, {"type": "null"}}}
}

func (w *writer) definition(t *Type) object {
	properties := object{}
	var required []string
	for _, f := range t.Fields {
		properties[f.Name] = w.property(f)
		if f.required && !t.patched {
			required = append(required, f.Name)
		}
	}
	d := object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
	if t.Text != "" {
		d["description"] = t.Text
	}
	if required != nil {
		d["required"] = required
	}
	if t.patched {
		d["patternProperties"] = object{`^\$`: object{}} // directives of a strategic merge patch, such as $patch
	}
	if t.variants != nil {
		d["allOf"] = variants(t)
	}
	return d
}

// property returns the schema of a field. In draft-07, validators ignore the siblings of $ref, so
// the reference is inside allOf.
func (w *writer) property(f *Field) object {
	p := w.ref(f.Type)
	text := f.Text
	if f.Type.id == "" && f.Type.Text != "" {
		text += "\n\n" + f.Type.Text
	}
	if text == "" {
		return p
	}
	if p["$ref"] != nil {
		return object{"description": text, "allOf": []object{p}}
	}
	p = maps.Clone(p)
	p["description"] = text
	return p
}

// variants returns the schemas that forbid the fields that a kind of record does not have.
func variants(t *Type) []object {
	var list []object
	for _, v := range t.variants {
		has := object{"kind": true}
		for _, name := range v.fields {
			has[name] = true
		}
		list = append(list, object{"if": isKind(v.kind),
			"then": object{"properties": has, "additionalProperties": false}})
	}
	return list
}

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
