package schema

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

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
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(indent+line+" "+word) > w.width {
				w.line("%s%s", indent, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		w.line("%s%s", indent, line)
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
