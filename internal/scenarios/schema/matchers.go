package schema

import (
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// textMatch returns the schema of a match of a text field: one of the words, or an expression
// between slashes. nil words allow any text.
func textMatch(words []string) map[string]any {
	if words == nil {
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	return anyOf(map[string]any{"enum": words}, pattern(`/.+/`))
}

// match returns the type of a match of a field. The field can occur with several types.
func (b *builder) match(fields ...match.Described) *Type {
	t := &Type{Name: "match", Text: b.text("match")}
	var values []map[string]any
	for _, f := range fields {
		switch f.Type {
		case value.Bool:
			values = append(values, map[string]any{"enum": []any{true, false, "true", "false"}})
		case value.Int:
			values = append(values, intRange)
		case value.Time:
			values = append(values, pattern(rangeOf(durationPattern)))
		default:
			values = append(values, textMatch(f.Words))
			t.enum = f.Words
		}
	}
	t.value = values[0]
	if len(values) > 1 {
		t.value = anyOf(values...)
	}
	return t
}

// state returns the type of a matcher of the status of a pod or a container.
func (b *builder) state() *Type {
	t := &Type{Name: "State", Text: b.text("State"), id: "State"}
	byName := map[string][]match.Described{}
	var names []string
	for _, f := range slices.Concat(match.PodFields(), match.ContainerFields(), match.WorkloadFields()) {
		if byName[f.Name] == nil {
			names = append(names, f.Name)
		}
		if len(byName[f.Name]) == 0 || byName[f.Name][0].Type != f.Type {
			byName[f.Name] = append(byName[f.Name], f)
		}
	}
	for _, name := range names {
		t.Fields = append(t.Fields, &Field{Name: name, Text: b.text("State." + name), Type: b.match(byName[name]...)})
	}
	return t
}

// record returns the type of a matcher of records. The kind determines the other fields.
func (b *builder) record() *Type {
	t := &Type{Name: "Record", Text: b.text("Record"), id: "Record"}
	t.Fields = append(t.Fields, &Field{Name: "kind", Text: b.text("Record.kind"),
		Type: enum("string", match.RecordKinds()), required: true})
	for _, f := range match.RecordFields() {
		t.Fields = append(t.Fields, &Field{Name: f.Name, Text: b.text("Record." + f.Name), Type: b.match(f)})
	}
	for _, kind := range match.Kinds() {
		t.variants = append(t.variants, variant{string(kind.Kind), kind.Fields})
	}
	return t
}

// transitions returns the type of a matcher of the values of one field.
func (b *builder) transitions() *Type {
	t := &Type{Name: "Transitions", Text: b.text("Expect.transitions"), id: "Transitions"}
	for _, f := range b.state().Fields {
		values := anyOf(f.Type.value, map[string]any{"enum": []string{"any"}})
		elem := &Type{Name: f.Type.Name, Text: f.Type.Text, enum: f.Type.enum, value: values}
		t.Fields = append(t.Fields, &Field{Name: f.Name, Text: f.Text, Type: &Type{List: true, Elem: elem}})
	}
	return t
}
