package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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
	case errors.As(err, &syntax):
		before := f.Data[:max(0, syntax.Offset-1)]
		at := Pos{f.Name, bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
		return Errors{{Pos: at, Message: fmt.Sprintf("is not %s: from here on, it is not valid JSON", f.What)}}
	case f.Kind != "" && (err != nil || head.APIVersion != f.APIVersion || head.Kind != f.Kind):
		message := fmt.Sprintf("is not %s: it needs apiVersion %s and kind %s", f.What, f.APIVersion, f.Kind)
		return Errors{{Pos: Pos{f.Name, 1, 1}, Message: message}}
	}
	d := json.NewDecoder(bytes.NewReader(f.Data))
	if !f.Open {
		d.DisallowUnknownFields()
	}
	err = d.Decode(out)
	if err == nil && !hasNull(reflect.ValueOf(out)) {
		return nil
	}
	errs := Collector{open: f.Open} // the common case needs no nodes
	n := f.root(&errs)
	Decode(n, out)
	if errs.Len() == 0 {
		n.Errorf("is not %s", f.What)
	}
	return errs.Err()
}

// Errorf returns the error about the value at a path of a document that Decode has accepted.
func (f JSONFile) Errorf(path, format string, args ...any) error {
	var errs Collector
	f.root(&errs).Find(path).Errorf(format, args...)
	return errs.Err()
}

// root returns the root of the document, which is YAML, too.
func (f JSONFile) root(errs *Collector) *Node {
	docs, _ := Parse(f.Name, f.Data, errs)
	if len(docs) == 0 {
		return &Node{errs: errs, Pos: Pos{File: f.Name}}
	}
	return docs[0]
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
