package schema

import (
	"encoding/json"
	"maps"
	"slices"
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
