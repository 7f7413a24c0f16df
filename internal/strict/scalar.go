package strict

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"strings"
)

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
