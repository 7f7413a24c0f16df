package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"probesim.dev/internal/printable"
)

// JSONFile is a JSON document that another command of the program has written. Its errors have
// places, as those of a YAML file.
type JSONFile struct {
	Name string
	Data []byte
	// What the file should be, such as "the JSON output of 'probesim explore'".
	What string
	// APIVersion and Kind are those of the document. Empty: it has none.
	APIVersion, Kind string
	// Open lets unknown fields pass.
	Open bool
}

// Decode decodes the document into the value that out points to, along json tags. The error is of
// type Errors. Null is no item of a list or of a map.
func (f JSONFile) Decode(out any) error {
	var head struct{ APIVersion, Kind string }
	err := json.Unmarshal(f.Data, &head)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(err.Error(), "unexpected end"):
		return Errors{{Pos: f.pos(len(f.Data)), Message: "the file ends too early"}}
	case errors.As(err, &syntax):
		return Errors{{Pos: f.pos(int(syntax.Offset) - 1),
			Message: fmt.Sprintf("is not %s: not valid JSON: %s", f.What, printable.Text(err.Error()))}}
	case f.Kind != "" && (err != nil || head.APIVersion != f.APIVersion || head.Kind != f.Kind):
		return Errors{{Pos: f.pos(0), Message: fmt.Sprintf("is not %s: it needs apiVersion %s and kind %s", f.What,
			f.APIVersion, f.Kind)}}
	}
	d := json.NewDecoder(bytes.NewReader(f.Data))
	if !f.Open {
		d.DisallowUnknownFields()
	}
	err = d.Decode(out)
	if err == nil && !hasNull(reflect.ValueOf(out)) {
		return nil
	}
	var errs Collector // the common case needs no tree
	n := f.tree(&errs)
	if f.Open {
		n.ignoreUnknown(reflect.TypeOf(out).Elem())
	}
	Decode(n, out)
	if errs.Len() == 0 {
		n.Errorf("is not %s", f.What)
	}
	return errs.Err()
}

// Errorf returns the error about the value at a path of a document that Decode has accepted.
func (f JSONFile) Errorf(path, format string, args ...any) error {
	var errs Collector
	f.tree(&errs).Find(path).Errorf(format, args...)
	return errs.Err()
}

// hasNull reports whether an item of a list or of a map is null, at any depth.
func hasNull(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && hasNull(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && hasNull(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if item := v.Index(i); item.Kind() == reflect.Pointer && item.IsNil() || hasNull(item) {
				return true
			}
		}
	}
	return false
}

// pos returns the position of a byte.
func (f JSONFile) pos(offset int) Pos {
	before := f.Data[:max(0, min(offset, len(f.Data)))]
	return Pos{f.Name, bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
}

// tree returns a valid document as a node.
func (f JSONFile) tree(errs *Collector) *Node {
	t := &jsonTree{file: f, d: json.NewDecoder(bytes.NewReader(f.Data)), line: 1}
	t.d.UseNumber()
	n := &Node{errs: errs}
	t.read(n)
	return n
}

// jsonTree builds the node of a document from its tokens.
type jsonTree struct {
	file     JSONFile
	d        *json.Decoder
	offset   int // of the last position
	line     int
	newlines int // offset after the last line break before it
}

// next returns the next token and its position.
func (t *jsonTree) next() (json.Token, Pos) {
	data := t.file.Data
	at := int(t.d.InputOffset())
	for at < len(data) && bytes.IndexByte([]byte(" \t\r\n,:"), data[at]) >= 0 {
		at++
	}
	for ; t.offset < at; t.offset++ {
		if data[t.offset] == '\n' {
			t.line, t.newlines = t.line+1, t.offset+1
		}
	}
	token, err := t.d.Token()
	if err != nil && !errors.Is(err, io.EOF) {
		panic(err) // the document is valid
	}
	return token, Pos{t.file.Name, t.line, at - t.newlines + 1}
}

// read reads a value into a node.
func (t *jsonTree) read(n *Node) {
	var token json.Token
	switch token, n.Pos = t.next(); token := token.(type) {
	case json.Delim:
		n.Kind = Sequence
		if token == '{' {
			n.Kind = Mapping
		}
		for i := 0; t.d.More(); i++ {
			step := indexStep(i)
			if n.Kind == Mapping {
				key, pos := t.next()
				step = key.(string)
				n.Keys = append(n.Keys, Key{Name: step, Pos: pos})
			}
			item := &Node{parent: n, step: step}
			n.Items = append(n.Items, item)
			t.read(item)
		}
		t.next()
	case string:
		n.Kind, n.Tag, n.Value, n.quoted = Scalar, "!!str", token, true
	case json.Number:
		n.Kind, n.Tag, n.Value = Scalar, "!!float", token.String()
		if _, err := token.Int64(); err == nil {
			n.Tag = "!!int"
		}
	case bool:
		n.Kind, n.Tag, n.Value = Scalar, "!!bool", fmt.Sprint(token)
	case nil:
		n.Kind, n.Tag, n.Value = Scalar, "!!null", "null"
	}
}

// ignoreUnknown makes Decode skip the keys that a type has no fields for.
func (n *Node) ignoreUnknown(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && n.Kind == Mapping {
		t = t.Elem()
	}
	for i, item := range n.Items {
		switch {
		case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
			item.ignoreUnknown(t.Elem())
		case t.Kind() == reflect.Struct && n.Kind == Mapping:
			index, known := structOf(t).fields[n.Keys[i].Name]
			if n.Keys[i].ignored = !known; known {
				item.ignoreUnknown(t.FieldByIndex(index).Type)
			}
		}
	}
}
