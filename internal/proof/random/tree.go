package random

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/value"
)

// tree is a value in a file: a mapping, a list or a scalar.
type tree = *yaml.Node

// literal is a scalar without quotes: a number, a boolean or a word.
type literal string

// inline returns a mapping in one line with fields: a key, its value, the next key, and so on.
func inline(fields ...any) tree {
	return put(&yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}, fields...)
}

// block returns a mapping with a line for each field.
func block(fields ...any) tree { return put(&yaml.Node{Kind: yaml.MappingNode}, fields...) }

// items returns a list in one line.
func items(values ...any) tree {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range values {
		n.Content = append(n.Content, treeOf(v))
	}
	return n
}

// put adds fields to a mapping and returns it. A nil value and an empty list leave out their field.
func put(n tree, fields ...any) tree {
	for i := 0; i < len(fields); i += 2 {
		if value := treeOf(fields[i+1]); value != nil {
			n.Content = append(n.Content, treeOf(fields[i]), value)
		}
	}
	return n
}

// treeOf returns the tree of a value. A list of trees has a line for each item, and a list of
// strings has one line.
func treeOf(v any) tree {
	switch v := v.(type) {
	case tree:
		return v
	case string:
		return text(v)
	case time.Duration:
		return text(value.Format(v))
	case literal, int, bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
	case []string:
		n := items()
		for _, s := range v {
			n.Content = append(n.Content, text(s))
		}
		return n
	case []tree:
		if len(v) > 0 {
			return &yaml.Node{Kind: yaml.SequenceNode, Content: v}
		}
	}
	return nil
}

// text returns a string. It has quotes if YAML would not read it as a string without them.
func text(s string) tree {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Style != 0 {
		n.Style = yaml.DoubleQuotedStyle // instead of a literal block, which is not valid everywhere
	}
	return n
}

func has(n tree, key string) bool { return get(n, key) != nil }

// get returns the value of a key, or nil if there is none.
func get(n tree, key string) tree {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// textOf returns the scalar of a key, or an empty string if there is none.
func textOf(n tree, key string) string {
	if found := get(n, key); found != nil {
		return found.Value
	}
	return ""
}

// itemNamed returns the item of a list with a name, or nil if there is none.
func itemNamed(list []tree, name string) tree {
	i := slices.IndexFunc(list, func(n tree) bool { return textOf(n, "name") == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// field returns the mapping of a key, which it adds if there is none.
func field(n tree, key string) tree {
	if !has(n, key) {
		put(n, key, inline())
	}
	return get(n, key)
}

// add adds values to the list of a key.
func add(n tree, key string, values ...tree) {
	if list := get(n, key); list != nil {
		list.Content = append(list.Content, values...)
	} else {
		put(n, key, values)
	}
}

// filled returns a mapping, or nil if it has no fields.
func filled(n tree) tree {
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// write returns the text of a file with the documents.
func write(documents []tree) []byte {
	var b bytes.Buffer
	dumper, err := yaml.NewDumper(&b, yaml.WithV3Defaults(), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	for _, d := range documents {
		err = errors.Join(err, dumper.Dump(d))
	}
	if err = errors.Join(err, dumper.Close()); err != nil {
		panic(err) // cannot happen: the nodes are valid, and a buffer has no errors
	}
	return b.Bytes()
}
