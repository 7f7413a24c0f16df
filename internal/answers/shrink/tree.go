package shrink

import (
	"slices"
	"strings"

	"probesim.dev/internal/strict"
)

// documents are the roots of the documents of a file.
type documents []*strict.Node

// parse reads a valid file, expands its aliases and merge keys, and drops its comments.
func parse(data []byte) documents {
	docs, _ := strict.Parse(fileName, data, &strict.Collector{})
	return docs
}

// nodes is a set of parts: items of lists, and values of mappings.
type nodes map[*strict.Node]bool

func (s nodes) has(n *strict.Node) bool { return s[n] }

// contains reports whether the set contains n or a node below n.
func (s nodes) contains(n *strict.Node) bool {
	return s[n] || slices.ContainsFunc(n.Items, s.contains)
}

// removeIn removes n and the nodes below n from the set.
func (s nodes) removeIn(n *strict.Node) {
	delete(s, n)
	for _, part := range n.Items {
		s.removeIn(part)
	}
}

// written is a file as text, with the data to map a place in the text to a node of the documents.
type written struct {
	text    []byte
	without nodes
	roots   documents // those that remain
	lines   []int     // the first line of each root
}

// write writes the documents to a file without the given parts.
func (d documents) write(without nodes) written {
	w := written{without: without}
	text := ""
	for _, doc := range d {
		if without[doc] {
			continue
		}
		if text != "" {
			text += "---\n"
		}
		w.lines, w.roots = append(w.lines, 1+strings.Count(text, "\n")), append(w.roots, doc)
		text += doc.YAML(without.has)
	}
	w.text = []byte(text)
	return w
}

// drop removes parts from the documents.
func (d documents) drop(without nodes) documents {
	kept := func(n *strict.Node) bool { return !without[n] }
	left := slices.DeleteFunc(slices.Clone(d), without.has)
	var dropIn func(n *strict.Node)
	dropIn = func(n *strict.Node) {
		n.Keep(kept)
		for _, part := range n.Items {
			dropIn(part)
		}
	}
	for _, doc := range left {
		dropIn(doc)
	}
	return left
}
