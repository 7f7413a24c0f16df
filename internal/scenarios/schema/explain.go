package schema

import (
	"fmt"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// Place is the target of a path: a kind of object, and one of its fields. Field is nil if the path
// names only the kind.
type Place struct {
	Kind  Kind
	Field *Field
}

// Find returns the target of a path such as spec.pods.containers.behavior. A path without a kind,
// unlike pod.spec.containers, is a path in a Scenario. A list stands for its items; indexes, as in
// the paths of errors, are ignored. The error names the unknown field and suggests others.
func Find(path string) (Place, error) {
	kind, words := split(path)
	place, t, so := Place{Kind: kind}, kind.Type, kindWord(kind)
	for _, word := range words {
		field := t.field(word)
		if field == nil {
			return place, unknown(so, word, t)
		}
		place.Field, t, so = field, field.Type.object(), so+"."+word
	}
	return place, nil
}

// split splits a path into its kind and the names of fields.
func split(path string) (Kind, []string) {
	path = indexes.Replace(strings.Trim(path, "."))
	words := strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
	for i, word := range words {
		if cut := strings.IndexByte(word, '['); cut >= 0 {
			words[i] = word[:cut]
		}
	}
	if len(words) > 0 {
		for _, k := range kinds() {
			if name := strings.ToLower(words[0]); name == kindWord(k) || name == kindWord(k)+"s" {
				return k, words[1:]
			}
		}
	}
	return kinds()[0], words
}

var indexes = strings.NewReplacer("[].", ".", "[]", "")

func kindWord(k Kind) string { return strings.ToLower(k.Name) }

// unknown returns the error for an unknown field, with suggestions.
func unknown(so, word string, t *Type) error {
	names := printable.Words(t.Fields, func(f *Field) string { return f.Name })
	if len(names) == 0 {
		return fmt.Errorf("%s has no field %s: it is a %s", so, strict.Quote(word), t)
	}
	candidates := names
	if !strings.Contains(so, ".") {
		for _, k := range kinds() {
			candidates = append(candidates, kindWord(k))
		}
	}
	if meant := strict.DidYouMean(word, candidates).String(); meant != "" {
		return fmt.Errorf("%s has no field %s%s", so, strict.Quote(word), meant)
	}
	if others := named(word); len(others) > 0 {
		return fmt.Errorf("%s has no field %s; try %s", so, strict.Quote(word), strings.Join(others, ", "))
	}
	return fmt.Errorf("%s has no field %s; its fields are %s", so, strict.Quote(word), strings.Join(names, ", "))
}

// named returns the paths of up to five fields of a Scenario with this name or, if there are none,
// with the nearest name.
func named(name string) []string {
	paths, names := map[string][]string{}, []string{}
	var walk func(t *Type, prefix string)
	walk = func(t *Type, prefix string) {
		for _, f := range t.Fields {
			names = append(names, f.Name)
			paths[f.Name] = append(paths[f.Name], prefix+f.Name)
			if o := f.Type.object(); !o.patched && f.Name != "variants" { // its fields are those of the scenario
				walk(o, prefix+f.Name+".")
			}
		}
	}
	walk(kinds()[0].Type, "")
	if paths[name] == nil {
		name = strict.Nearest(name, names)
	}
	return paths[name][:min(len(paths[name]), 5)]
}

// Complete returns the paths that begin with a prefix, up to the next dot, for shell completion.
// more reports which of them have fields.
func Complete(prefix string) (paths []string, more map[string]bool) {
	more = map[string]bool{}
	add := func(path string, t *Type) {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
			more[path] = len(t.object().Fields) > 0
		}
	}
	dot := strings.LastIndexByte(prefix, '.')
	if dot < 0 {
		for _, f := range kinds()[0].Type.Fields {
			add(f.Name, f.Type)
		}
		for _, k := range kinds() {
			add(kindWord(k), k.Type)
		}
		return paths, more
	}
	place, err := Find(prefix[:dot])
	if err != nil {
		return nil, nil
	}
	for _, f := range place.object().Fields {
		add(prefix[:dot+1]+f.Name, f.Type)
	}
	return paths, more
}

// object returns the type with the fields below a place.
func (p Place) object() *Type {
	if p.Field == nil {
		return p.Kind.Type
	}
	return p.Field.Type.object()
}
