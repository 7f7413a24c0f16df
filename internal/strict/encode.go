package strict

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
)

// Marshaler is a type that encodes itself to a node.
type Marshaler interface{ MarshalNode() *Node }

// Encode returns the node of a value that a Go program made, along json tags, as Decode reads it.
// It leaves out zero values. Errors about the node go to errs, each with the position in the
// nearest field of type Pos.
func Encode(value any, errs *Collector) *Node {
	n := encode(reflect.ValueOf(value), Pos{})
	n.errs = errs
	return n
}

func encode(v reflect.Value, at Pos) *Node {
	if own, is := v.Interface().(Marshaler); is {
		n := own.MarshalNode()
		n.place(at)
		return n
	}
	of := v
	if v.Kind() == reflect.Pointer {
		of = v.Elem()
	}
	hasPos := of.Kind() == reflect.Struct && structOf(of.Type()).pos != nil // whose String is that of the position
	if own, is := v.Interface().(fmt.Stringer); is && !hasPos {
		return &Node{Kind: Scalar, Tag: "!!str", Value: own.String(), Pos: at}
	}
	n := &Node{Kind: Scalar, Tag: "!!int", Pos: at}
	switch of.Kind() {
	case reflect.Struct:
		n.Kind, n.Tag = Mapping, ""
		info := structOf(of.Type())
		if hasPos {
			n.Pos = of.FieldByIndex(info.pos).Interface().(Pos)
		}
		for _, name := range info.names {
			if field := of.FieldByIndex(info.fields[name]); !field.IsZero() {
				n.attach(name, encode(field, n.Pos))
			}
		}
	case reflect.Slice:
		n.Kind, n.Tag = Sequence, ""
		for i := range of.Len() {
			n.attach(indexStep(i), encode(of.Index(i), at))
		}
	case reflect.Map:
		n.Kind, n.Tag = Mapping, ""
		keys := of.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			n.attach(key.String(), encode(of.MapIndex(key), at))
		}
	case reflect.String:
		n.Tag, n.Value, n.quoted = "!!str", of.String(), Quoted(of.String()) != of.String()
	case reflect.Bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(of.Bool())
	default:
		n.Value = fmt.Sprint(of.Interface())
	}
	return n
}

// attach adds an item to a mapping or list.
func (n *Node) attach(step string, item *Node) {
	item.parent, item.step = n, step
	if n.Kind == Mapping {
		n.Keys = append(n.Keys, Key{Name: step, Pos: n.Pos})
	}
	n.Items = append(n.Items, item)
}

// place sets the position of a node and all its parts.
func (n *Node) place(at Pos) {
	n.Pos = at
	for _, item := range n.Items {
		item.place(at)
	}
}

var (
	plainWord = regexp.MustCompile(`^([A-Za-z][\w./%:@+-]*[\w./%@+-]|[A-Za-z0-9.][\w./%-]*)( [\w./%-]+)*$`)
	plainKey  = regexp.MustCompile(`^[A-Za-z]+(:[A-Za-z0-9/._-]+( [A-Za-z0-9/._-]+)*)?$`)
)

// Quoted returns a text as a scalar of YAML on one line, in quotes if necessary.
func Quoted(text string) string {
	if plainWord.MatchString(text) && IsString(text) {
		return text
	}
	return printable.Text(strconv.Quote(text))
}
