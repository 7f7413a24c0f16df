// Package schema describes the fields of scenario files and of the manifests in them: as a JSON Schema, for editors, and as
// text, as kubectl explain does. Both are made of the Go types that the files are read into; the descriptions of scenario
// fields are in fields.txt, those of Kubernetes' fields in its own SwaggerDoc methods.
package schema

// Type is what a field may be: an object, a list or map of another type, or a value.
type Type struct {
	Name     string   // Rule, draw, string: for text
	Text     string   // what it is; may be empty
	Fields   []*Field // of an object, in the order in which they are documented
	Elem     *Type    // of a list or map
	List     bool
	Map      bool
	Enum     []string       // the only values of a string, if there are such
	id       string         // of its definition in the JSON Schema; empty if it is written where it is used
	value    map[string]any // JSON Schema of a value
	patched  bool           // by a strategic merge, whose directives may stand in it too
	variants []variant      // of an object with a kind that says which fields it has
}

// Field is a field of an object.
type Field struct {
	Name     string
	Text     string
	Type     *Type
	Required bool
}

// variant are the fields that an object has whose kind is kind.
type variant struct {
	kind   string
	fields []string
}

// field returns a field by its name, or nil.
func (t *Type) field(name string) *Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// object is the type whose fields a path through t goes to: that of the items of lists.
func (t *Type) object() *Type {
	for t.Elem != nil && t.List {
		t = t.Elem
	}
	return t
}

// String is the name of the type as Go would write it.
func (t *Type) String() string {
	switch {
	case t.List:
		return "[]" + t.Elem.String()
	case t.Map:
		return "map[string]" + t.Elem.String()
	}
	return t.Name
}
