package schema

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
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

// Print describes a place as kubectl explain does: its type, its text and its fields. If recursive
// is true, it lists the fields of fields too, without their texts. It wraps lines at width columns;
// only a longer word makes a longer line.
func (p Place) Print(out io.Writer, width int, recursive bool) error {
	w := &printer{out: out, width: max(width, 40)}
	w.line("%-11s %s", "KIND:", p.Kind.Name)
	w.line("%-11s %s", "VERSION:", p.Kind.APIVersion)
	w.line("")
	t := p.object()
	if p.Field != nil {
		w.line("FIELD: %s <%s>%s", p.Field.Name, p.Field.Type, required(p.Field))
		if t.enum != nil {
			w.line("ENUM:")
			for _, word := range t.enum {
				w.line("    %s", word)
			}
		}
		w.line("")
	}
	w.line("DESCRIPTION:")
	w.description(p, t)
	if len(t.Fields) == 0 {
		return w.err
	}
	w.line("")
	w.line("FIELDS:")
	w.fields(t, "  ", recursive, map[*Type]bool{t: true})
	return w.err
}

func required(f *Field) string {
	if f.required {
		return " -required-"
	}
	return ""
}

// printer writes lines until the first error.
type printer struct {
	out   io.Writer
	width int
	err   error
}

func (w *printer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// description writes the text of a field, and the text of its type if it is different.
func (w *printer) description(p Place, t *Type) {
	texts := []string{t.Text}
	if p.Field != nil && p.Field.Text != t.Text {
		texts = []string{p.Field.Text, t.Text}
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	w.wrap(cmp.Or(strings.Join(texts, "\n\n"), "<empty>"), "    ")
}

// wrap writes text in lines of at most width columns, and keeps its paragraphs.
func (w *printer) wrap(text, indent string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			w.line("")
		}
		words := strings.Join(strings.Fields(paragraph), " ")
		for _, line := range document.Wrap(words, w.width-len(indent), 20) {
			w.line("%s%s", indent, line)
		}
	}
}

// fields lists the fields of a type. below has the types that are being listed: a recursive type is
// not listed again inside itself.
func (w *printer) fields(t *Type, indent string, recursive bool, below map[*Type]bool) {
	for _, f := range t.Fields {
		w.line("%s%s\t<%s>%s", indent, f.Name, f.Type, required(f))
		if recursive {
			if o := f.Type.object(); !below[o] {
				below[o] = true
				w.fields(o, indent+"  ", true, below)
				delete(below, o)
			}
			continue
		}
		if f.Type.object().enum != nil {
			w.wrap("enum: "+strings.Join(f.Type.object().enum, ", "), indent)
		}
		w.wrap(cmp.Or(f.Text, f.Type.object().Text, "<no description>"), indent+"  ")
		w.line("")
	}
}
