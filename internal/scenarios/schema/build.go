package schema

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// builder makes a Type of each Go type, once.
type builder struct {
	known map[reflect.Type]*Type
	used  map[string]bool // entries of fields.txt
}

// swagger is implemented by the types of Kubernetes. The map has descriptions by field name, and
// the description of the type under "".
type swagger interface{ SwaggerDoc() map[string]string }

// patcher is implemented by types that are a patch of another type. Patched returns a value of that
// type.
type patcher interface{ Patched() any }

func (b *builder) text(name string) string {
	b.used[name] = true
	return texts[name]
}

// of returns the type of a Go type.
func (b *builder) of(t reflect.Type) *Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if found := b.known[t]; found != nil {
		return found
	}
	if special := b.special(t); special != nil {
		b.known[t] = special
		return special
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.object(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return scalar("string", map[string]any{"type": "string", "contentEncoding": "base64"})
		}
		return &Type{List: true, Elem: b.of(t.Elem())}
	case reflect.Map:
		return &Type{Map: true, Elem: b.of(t.Elem())}
	}
	return b.plain(t)
}

// plain returns the type of a basic Go type, or of a named string type with an enum.
func (b *builder) plain(t reflect.Type) *Type {
	switch t.Kind() {
	case reflect.String:
		if words := enums[t]; words != nil {
			return enum(words)
		}
		return scalar("string", map[string]any{"type": "string"})
	case reflect.Bool:
		return scalar("boolean", map[string]any{"type": "boolean"})
	case reflect.Float32, reflect.Float64:
		return scalar("number", map[string]any{"type": "number"})
	case reflect.Interface:
		return scalar("Object", map[string]any{})
	}
	return scalar("integer", map[string]any{"type": "integer"})
}

// object returns the type of a struct. It registers the type before the fields because types can be
// recursive.
func (b *builder) object(t reflect.Type) *Type {
	of, patched := t, false
	if p, is := reflect.New(t).Interface().(patcher); is {
		of, patched = reflect.TypeOf(p.Patched()), true
		if of.Name() != "" { // part of a Kubernetes object
			return b.of(of)
		}
	}
	object := &Type{Name: t.Name(), id: definition(t), patched: patched || isKubernetes(of)}
	b.known[t] = object
	if doc, ok := reflect.Zero(of).Interface().(swagger); ok {
		object.Text = doc.SwaggerDoc()[""]
	} else {
		object.Text = b.text(t.Name())
	}
	b.fields(object, of, t.Name())
	return object
}

// fields adds the fields of a struct, including the fields of inlined structs. name is the name of
// the type in fields.txt.
func (b *builder) fields(object *Type, t reflect.Type, name string) {
	docs := map[string]string{}
	doc, swaggered := reflect.Zero(t).Interface().(swagger)
	if swaggered {
		docs = doc.SwaggerDoc()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case key == "-" || !f.IsExported():
		case key == "" && (f.Anonymous || strings.Contains(options, "inline")):
			b.fields(object, f.Type, f.Type.Name())
		case object.field(key) != nil: // an outer field hides an inlined one
		default:
			field := &Field{Name: key, Type: b.of(f.Type), required: isRequired(f.Type, options)}
			if swaggered {
				field.Text = docs[key]
			} else {
				field.Text = b.text(name + "." + key)
			}
			if words := fieldEnums[name+"."+key]; words != nil {
				field.Type = enum(words)
			}
			object.Fields = append(object.Fields, field)
		}
	}
}

// isRequired reports whether a field is required: it has no omitempty or omitzero, and is not a
// pointer.
func isRequired(t reflect.Type, options string) bool {
	return t.Kind() != reflect.Pointer && !strings.Contains(options, "omitempty") &&
		!strings.Contains(options, "omitzero")
}

// isKubernetes reports whether a type belongs to the API of Kubernetes.
func isKubernetes(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/") }

// definition returns the name of a type's definition in the JSON Schema.
func definition(t reflect.Type) string {
	return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
}

func scalar(name string, value map[string]any) *Type { return &Type{Name: name, value: value} }

func enum(words []string) *Type {
	return &Type{Name: "string", enum: words, value: map[string]any{"enum": words}}
}

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
		{Name: "apiVersion", Text: b.text("Scenario.apiVersion"), Type: enum([]string{format.APIVersion})},
		{Name: "kind", Text: b.text("Scenario.kind"), Type: enum([]string{"Scenario"})},
	}, t.Fields...)
	kinds := []Kind{{format.APIVersion, "Scenario", t}}
	for _, k := range manifests.Kinds {
		kinds = append(kinds, Kind{k.APIVersion, k.Kind, b.of(reflect.TypeOf(k.Make()))})
	}
	return kinds, b.used
}

//go:embed fields.txt
var fieldsText string

// texts has the descriptions in fields.txt, by TYPE or TYPE.FIELD.
var texts = parseTexts(fieldsText)

// parseTexts reads entries: a line with a name, followed by indented lines of text. Lines that
// begin with # are comments.
func parseTexts(file string) map[string]string {
	entries := map[string]string{}
	name := ""
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "  "):
			entries[name] = strings.TrimSpace(entries[name] + " " + strings.TrimSpace(line))
		default:
			name = line
		}
	}
	return entries
}
