package random

import (
	"bytes"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// object returns an empty mapping with a line for each field.
func object() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// inline returns an empty mapping in one line.
func inline() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle} }

// list returns a list with a line for each item.
func list(items ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Content: items} }

// texts returns a list of strings in one line.
func texts(items ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, item := range items {
		n.Content = append(n.Content, text(item))
	}
	return n
}

// text returns a string. It has quotes if YAML would not read it as a string without them.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Style != 0 {
		n.Style = yaml.DoubleQuotedStyle // instead of a literal block, which is not valid everywhere
	}
	return n
}

// literal returns a scalar without quotes: a number, a boolean or a word.
func literal(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func number(n int) *yaml.Node { return literal(strconv.Itoa(n)) }

// put adds a field to a mapping.
func put(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, literal(key), value)
}

func has(n *yaml.Node, key string) bool { return get(n, key) != nil }

// get returns the value of a key, or nil if there is none.
func get(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// write returns the text of a file with the documents.
func write(documents []*yaml.Node) []byte {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	for _, d := range documents {
		if err := encoder.Encode(d); err != nil {
			panic(err) // cannot happen: the nodes are valid, and a buffer has no errors
		}
	}
	if err := encoder.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
