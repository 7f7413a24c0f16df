package strict

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
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
	switch tag, _ := resolve(y); tag {
	case "!!null":
		return "", false
	case "!!bool":
		return strconv.FormatBool(booleans[y.Value]), true
	case "!!int":
		i, err := integer(y.Value).Int64()
		return strconv.FormatInt(i, 10), err == nil
	case "!!float":
		f, err := float(y.Value)
		switch {
		case math.IsInf(f, 1):
			return ".inf", err == nil
		case math.IsInf(f, -1):
			return "-.inf", err == nil
		case math.IsNaN(f):
			return ".nan", err == nil
		}
		return strconv.FormatFloat(f, 'g', -1, 32), err == nil
	}
	return y.Value, true
}

// integer returns the number of an !!int as JSON has it.
func integer(text string) json.Number {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	u, _ := strconv.ParseUint(text, 0, 64) // a text that is neither has another tag
	return json.Number(strconv.FormatUint(u, 10))
}

// float returns the number of a !!float, which may be infinite or not a number.
func float(text string) (float64, error) {
	switch word := strings.ToLower(strings.TrimPrefix(text, "+")); word {
	case ".nan":
		return math.NaN(), nil
	case ".inf", "-.inf":
		return strconv.ParseFloat(strings.Replace(word, ".", "", 1), 64)
	}
	return strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
}

// number returns the node as a number of JSON. It returns false if the node is not a number that
// JSON has.
func (n *Node) number() (json.Number, bool) {
	switch n.Tag {
	case "!!int":
		return integer(n.Value), true
	case "!!float":
		if f, err := float(n.Value); err == nil {
			data, err := json.Marshal(f)
			return json.Number(data), err == nil
		}
	}
	return "", false
}

// isInfinite reports whether the node is an infinite number or not a number, which JSON does not
// have.
func (n *Node) isInfinite() bool {
	_, is := n.number()
	return n.Kind == Scalar && n.Tag == "!!float" && !is
}
