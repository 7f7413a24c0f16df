package shrink

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// documents are the roots of the documents of a file.
type documents []*yaml.Node

// parse reads a valid file, expands its aliases and merge keys, and drops its comments.
func parse(data []byte) documents {
	var docs documents
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			panic(err) // the loader has accepted the file
		}
		if len(doc.Content) > 0 && doc.Content[0].ShortTag() != "!!null" {
			docs = append(docs, plain(doc.Content[0]))
		}
	}
}

// plain returns a copy of a node without aliases, merges, anchors and comments.
func plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return plain(n.Alias)
	}
	c := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	if n.Kind == yaml.MappingNode {
		addFields(c, n)
		return c
	}
	for _, item := range n.Content {
		c.Content = append(c.Content, plain(item))
	}
	return c
}

// addFields adds the fields of a mapping that c does not have yet, merged fields last.
func addFields(c, from *yaml.Node) {
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	if from.Kind == yaml.SequenceNode { // a list of merged mappings
		for _, item := range from.Content {
			addFields(c, item)
		}
		return
	}
	var merged []*yaml.Node
	for i := 0; i < len(from.Content); i += 2 {
		key, value := plain(from.Content[i]), from.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
		} else if field(c, key.Value) == nil {
			c.Content = append(c.Content, key, plain(value))
		}
	}
	for _, m := range merged {
		addFields(c, m)
	}
}

// field returns the value of a field of a mapping, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// parts returns the nodes of n that can be removed: the items of a list, the values of a mapping.
func parts(n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.MappingNode {
		return n.Content
	}
	values := make([]*yaml.Node, 0, len(n.Content)/2)
	for i := 1; i < len(n.Content); i += 2 {
		values = append(values, n.Content[i])
	}
	return values
}

// nodes is a set of parts.
type nodes map[*yaml.Node]bool

// contains reports whether the set contains n or a node below n.
func (s nodes) contains(n *yaml.Node) bool {
	if s[n] {
		return true
	}
	for _, part := range parts(n) {
		if s.contains(part) {
			return true
		}
	}
	return false
}

// removeIn removes n and the nodes below n from the set.
func (s nodes) removeIn(n *yaml.Node) {
	delete(s, n)
	for _, part := range parts(n) {
		s.removeIn(part)
	}
}

// written is a file as text, with the data to map a place in the text to a node of the documents.
type written struct {
	text  []byte
	roots []*yaml.Node              // copies of the documents that remain
	lines []int                     // the first line of each root
	of    map[*yaml.Node]*yaml.Node // from a copy to the original
}

// write writes the documents to a file without the given parts.
func (d documents) write(without nodes) written {
	w := written{of: map[*yaml.Node]*yaml.Node{}}
	var b bytes.Buffer
	for _, doc := range d {
		if without[doc] {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		w.lines = append(w.lines, 1+bytes.Count(b.Bytes(), []byte("\n")))
		root := w.copy(doc, without)
		w.roots = append(w.roots, root)
		encode(&b, root)
	}
	w.text = b.Bytes()
	return w
}

func encode(b *bytes.Buffer, root *yaml.Node) {
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(root), encoder.Close()); err != nil {
		panic(err) // a buffer accepts every write, and the nodes come from a file
	}
}

// copy copies a node without the given parts.
func (w *written) copy(n *yaml.Node, without nodes) *yaml.Node {
	c := *n
	c.Content = nil
	for i, part := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if without[part] || isKey && without[n.Content[i+1]] {
			continue
		}
		c.Content = append(c.Content, w.copy(part, without))
	}
	w.of[&c] = n
	return &c
}

// drop removes parts from the documents.
func (d documents) drop(without nodes) documents {
	var left documents
	for _, doc := range d {
		if !without[doc] {
			dropIn(doc, without)
			left = append(left, doc)
		}
	}
	return left
}

func dropIn(n *yaml.Node, without nodes) {
	var left []*yaml.Node
	for i, part := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		if without[part] || isKey && without[n.Content[i+1]] {
			continue
		}
		dropIn(part, without)
		left = append(left, part)
	}
	n.Content = left
}
