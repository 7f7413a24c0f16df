package strict

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	kubectl "sigs.k8s.io/yaml"
)

// The notation of a plain scalar determines its type. This file reads it as kubectl does, which
// reads YAML 1.1 with sigs.k8s.io/yaml and sends JSON: yes, no, on and off are booleans, and 1e3 is
// the integer 1000.

// booleans are the plain scalars that are booleans.
var booleans = func() map[string]bool {
	all := map[string]bool{}
	for word, b := range map[string]bool{"y": true, "yes": true, "true": true, "on": true, "n": false, "no": false,
		"false": false, "off": false} {
		all[word], all[strings.ToUpper(word)], all[strings.ToUpper(word[:1])+word[1:]] = b, b, b
	}
	return all
}()

// resolve returns the tag of a scalar, and whether it is quoted.
func resolve(y *yaml.Node) (tag string, quoted bool) {
	tag = y.ShortTag()
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return tag, true
	}
	_, isBool := booleans[y.Value]
	switch {
	case isBool && tag == "!!str":
		tag = "!!bool"
	case tag == "!!merge": // a value <<
		tag = "!!str"
	case y.Value == "-0":
		tag = "!!int"
	}
	return tag, false
}

// IsString reports whether a plain scalar is a string. Other strings need quotes.
func IsString(text string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.ScalarNode {
		return false
	}
	tag, _ := resolve(doc.Content[0])
	return tag == "!!str"
}

// keyName returns the name of a key, which is text in JSON. It returns false for null and for
// numbers that kubectl cannot convert.
func keyName(y *yaml.Node) (string, bool) {
	if tag, _ := resolve(y); tag == "!!str" || tag == "!!timestamp" {
		return y.Value, true
	}
	var object map[string]int
	data, err := kubectl.YAMLToJSON([]byte("? " + y.Value + "\n: 0"))
	if err != nil || json.Unmarshal(data, &object) != nil || len(object) != 1 {
		return "", false
	}
	return slices.Sorted(maps.Keys(object))[0], true
}

// number returns the node as a number of JSON. It returns false if the node is not a number that
// JSON has.
func (n *Node) number() (json.Number, bool) {
	if n.Tag != "!!int" && n.Tag != "!!float" {
		return "", false
	}
	if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil && strconv.FormatInt(i, 10) == n.Value {
		return json.Number(n.Value), true // the usual notation, without the parser of kubectl
	}
	data, err := kubectl.YAMLToJSON([]byte(n.Value))
	return json.Number(data), err == nil
}

// isInfinite reports whether the node is an infinite number or not a number, which JSON does not
// have.
func (n *Node) isInfinite() bool {
	_, is := n.number()
	return n.Kind == Scalar && n.Tag == "!!float" && !is
}
