// Package schema describes the fields of scenario files and of the manifests in them: as a JSON
// Schema, for editors, and as text, as kubectl explain does. It derives both from the Go types of
// the files. The descriptions of scenario fields are in fields.txt, the descriptions of Kubernetes
// fields in the SwaggerDoc methods of their types.
package schema

// Type is the type of a field: an object, a list or map of another type, or a value.
type Type struct {
	Name     string   // such as Rule, draw or string
	Text     string   // the description; may be empty
	Fields   []*Field // the fields of an object, in the order of the documentation
	Elem     *Type    // the type of the items of a list or of the values of a map
	List     bool
	Map      bool
	enum     []string       // the allowed values of a string; nil allows all
	id       string         // the name of its definition in the JSON Schema; empty for a type that is written inline
	value    map[string]any // the JSON Schema of a value
	patched  bool           // the object can be a strategic merge patch, with directives
	variants []variant      // the fields by kind, of an object whose kind determines them
}

// Field is a field of an object.
type Field struct {
	Name     string
	Text     string
	Type     *Type
	required bool
}

// variant has the fields of an object of a kind.
type variant struct {
	kind   string
	fields []string
}

// field returns the field with a name, or nil.
func (t *Type) field(name string) *Field {
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// object returns the type with the fields below t in a path: for a list, the type of its items.
func (t *Type) object() *Type {
	for t.Elem != nil && t.List {
		t = t.Elem
	}
	return t
}

// String returns the name of the type in Go's notation, such as []Rule.
func (t *Type) String() string {
	switch {
	case t.List:
		return "[]" + t.Elem.String()
	case t.Map:
		return "map[string]" + t.Elem.String()
	}
	return t.Name
}
