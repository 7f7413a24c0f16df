package strict

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Unmarshaler is a type that decodes itself from a node and reports errors through the node.
type Unmarshaler interface{ UnmarshalNode(n *Node) }

var (
	unmarshalerType     = reflect.TypeFor[Unmarshaler]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	quantityType        = reflect.TypeFor[*resource.Quantity]()
	posType             = reflect.TypeFor[Pos]()
)

// Decode decodes a node into the value that out points to, along json tags. It reports everything
// that does not fit the type through the nodes (see Bad and Unread) and decodes the rest. Values
// that are wrong, null or not written leave out unchanged, but pointers on the way to them are set.
// A field of type Pos gets the position of its struct.
func Decode(n *Node, out any) {
	decodeValue(n, reflect.ValueOf(out).Elem())
	n.settle()
}

func decodeValue(n *Node, v reflect.Value) {
	if !n.Written() {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		decodeValue(n, v.Elem())
		return
	}
	if n.Kind == Scalar && n.wrong {
		return
	}
	if decodeItself(n, v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		decodeStruct(n, v)
	case reflect.Map:
		decodeMap(n, v)
	case reflect.Slice:
		decodeSlice(n, v)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.plain()))
	default:
		decodeScalar(n, v)
	}
}

// decodeItself decodes types with a decoding method.
func decodeItself(n *Node, v reflect.Value) bool {
	pointer := v.Addr()
	switch t := pointer.Type(); {
	case t.Implements(unmarshalerType):
		pointer.Interface().(Unmarshaler).UnmarshalNode(n)
	case n.isInfinite() && !t.Implements(unmarshalerType) && (t.Implements(jsonUnmarshalerType) ||
		v.Kind() == reflect.Interface):
		n.Errorf("must not be %s, which JSON does not have", n.Value)
	case t == quantityType && isHugeQuantity(n):
		n.Errorf("must be a quantity of at most %d characters with an exponent from -99 to 99", maxQuantity)
	case t.Implements(jsonUnmarshalerType):
		example, has := examples[v.Type()]
		switch err := pointer.Interface().(json.Unmarshaler).UnmarshalJSON(n.JSON()); {
		case err != nil && has:
			n.Errorf("must be %s, not %s", example, n.describe())
		case err != nil:
			n.Errorf("must not be %s", n.describe())
		}
	case t.Implements(textUnmarshalerType):
		fresh := reflect.New(v.Type())
		if n.Kind != Scalar {
			n.Errorf("must be a single value, not %s", n.describe())
		} else if err := fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
			n.Errorf("%s", err)
		} else {
			v.Set(fresh.Elem())
		}
	default:
		return false
	}
	return true
}

// examples describe types whose decoding method has errors with the words of Go.
var examples = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  "a quantity such as 100m or 1Gi",
	reflect.TypeFor[intstr.IntOrString](): "a number or a string",
	reflect.TypeFor[metav1.Time]():        "a time such as 2006-01-02T15:04:05Z",
	reflect.TypeFor[metav1.MicroTime]():   "a time such as 2006-01-02T15:04:05.000000Z",
	reflect.TypeFor[metav1.Duration]():    "a duration such as 30s",
	reflect.TypeFor[metav1.FieldsV1]():    "a mapping",
}

// maxQuantity is the maximum length of a quantity in bytes.
const maxQuantity = 64

var hugeExponent = regexp.MustCompile(`[eE][-+]?0*[1-9][0-9]{2}`)

// isHugeQuantity reports whether resource.Quantity would compute with very many digits, which takes
// hours for 1e-999999999.
func isHugeQuantity(n *Node) bool {
	return len(n.Value) > maxQuantity || hugeExponent.MatchString(n.Value)
}

// newer are fields of handlers that older releases of k8s.io/api do not have. This package is also
// built with those releases, where it skips the fields.
var newer = map[string][]string{
	"k8s.io/api/core/v1.HTTPGetAction": {"protocol"}, "k8s.io/api/core/v1.GRPCAction": {"mode"},
	"k8s.io/api/core/v1.Container": {"restartPolicyRules"},
}

func decodeStruct(n *Node, v reflect.Value) {
	if n.Kind != Mapping {
		n.Errorf("must be a mapping, not %s", n.describe())
		return
	}
	info := structOf(v.Type())
	if info.pos != nil {
		v.FieldByIndex(info.pos).Set(reflect.ValueOf(n.Pos))
	}
	for i := range n.Keys {
		if n.Keys[i].ignored {
			continue
		}
		index, known := info.fields[n.Keys[i].Name]
		if !known && (n.collector().open ||
			slices.Contains(newer[v.Type().PkgPath()+"."+v.Type().Name()], n.Keys[i].Name)) {
			continue
		}
		if !known {
			n.unknownKey(i, info.names)
			index, known = info.fields[n.Keys[i].Name]
		}
		if known {
			decodeValue(n.Items[i], v.FieldByIndex(index))
		}
	}
}

// CheckKeys reports unknown keys of a mapping.
func CheckKeys(n *Node, known ...string) {
	for i, key := range n.Keys {
		if !slices.Contains(known, key.Name) {
			n.unknownKey(i, known)
		}
	}
}

// unknownKey reports a key, with the similar one of the known keys, or with a list. If a similar
// known key is not written, the key stands for it from then on.
func (n *Node) unknownKey(i int, known []string) {
	key, item := &n.Keys[i], n.Items[i]
	meant := ""
	hint := ""
	if !n.Full() {
		meant = Nearest(key.Name, known)
		if hint = didYouMean(meant); meant == "" && len(known) <= maxListed {
			hint = ThereAre(known)
		}
	}
	item.errorAt(key.Pos, "unknown field%s", hint)
	if meant != "" && n.Field(meant).Kind == Missing {
		key.Name, n.index = meant, nil
	} else {
		item.wrong = true
	}
}

func decodeMap(n *Node, v reflect.Value) {
	if n.Kind != Mapping {
		n.Errorf("must be a mapping, not %s", n.describe())
		return
	}
	t := v.Type()
	v.Set(reflect.MakeMapWithSize(t, len(n.Keys)))
	for i, key := range n.Keys {
		if key.ignored {
			continue
		}
		value := reflect.New(t.Elem()).Elem()
		decodeValue(n.Items[i], value)
		if value.Addr().Type() == quantityType && n.Items[i].Bad() { // 0 would be another mistake
			continue
		}
		v.SetMapIndex(reflect.ValueOf(key.Name).Convert(t.Key()), value)
	}
}

func decodeSlice(n *Node, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		decodeBytes(n, v)
		return
	}
	if n.Kind != Sequence {
		n.Errorf("must be a list, not %s", n.describe())
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if !item.Written() {
			if !item.Bad() {
				item.Errorf("a list item must not be empty")
			}
			continue
		}
		decodeValue(item, list.Index(i))
	}
	v.Set(list)
}

// structInfo describes a struct type for decoding.
type structInfo struct {
	fields map[string][]int // index by json name, including inlined structs
	names  []string
	pos    []int // index of the field of type Pos; nil if there is none
}

var structs sync.Map // reflect.Type to *structInfo

func structOf(t reflect.Type) *structInfo {
	if info, ok := structs.Load(t); ok {
		return info.(*structInfo)
	}
	info := &structInfo{fields: map[string][]int{}}
	info.add(t, nil)
	structs.Store(t, info)
	return info
}

func (s *structInfo) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(prefix[:len(prefix):len(prefix)], i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == posType && len(prefix) == 0:
			s.pos = index
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			s.add(f.Type, index)
		default:
			s.addName(name, f, index)
		}
	}
}

func (s *structInfo) addName(name string, f reflect.StructField, index []int) {
	if name == "" {
		name = f.Name
	}
	if _, has := s.fields[name]; has {
		return // an outer field hides an inlined one of the same name
	}
	s.fields[name] = index
	s.names = append(s.names, name)
}

func decodeScalar(n *Node, v reflect.Value) {
	if n.Kind != Scalar {
		n.Errorf("must be %s, not %s", wanted(v.Type()), n.describe())
		return
	}
	switch v.Kind() {
	case reflect.String:
		if n.Tag != "!!str" && n.Tag != "!!timestamp" {
			n.Errorf("must be a string, not %s: put it in quotes", n.describe())
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if n.Tag != "!!bool" {
			n.Errorf("must be true or false, not %s", n.describe())
			return
		}
		v.SetBool(booleans[n.Value])
	case reflect.Float32, reflect.Float64:
		number, is := n.number()
		f, err := number.Float64()
		if !is || err != nil {
			n.Errorf("must be a number, not %s", n.describe())
			return
		}
		v.SetFloat(f)
	default:
		decodeInt(n, v)
	}
}

// decodeInt decodes whole numbers, also in notations such as 1e3 and 5.0.
func decodeInt(n *Node, v reflect.Value) {
	number, is := n.number()
	text := number.String()
	if !is || strings.ContainsAny(text, ".e") {
		n.Errorf("must be a whole number, not %s", n.describe())
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && !v.OverflowInt(i) {
			v.SetInt(i)
			return
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i, err := strconv.ParseUint(text, 10, 64); err == nil && !v.OverflowUint(i) {
			v.SetUint(i)
			return
		}
	}
	n.Errorf("%s is out of range for %d bits", n.Value, v.Type().Bits())
}

// decodeBytes decodes base64, the notation of Kubernetes for bytes.
func decodeBytes(n *Node, v reflect.Value) {
	data, err := base64.StdEncoding.DecodeString(n.Value)
	if err != nil || n.Kind != Scalar || n.Tag != "!!str" {
		n.Errorf("must be text in base64, not %s", n.describe())
		return
	}
	v.SetBytes(data)
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
