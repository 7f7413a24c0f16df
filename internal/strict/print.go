package strict

import (
	"cmp"
	"slices"
	"strings"
)

// lineLength is the length of lines up to which YAML writes a mapping or list on one line.
const lineLength = 90

// YAML returns the node as a document, without some parts: short mappings and lists on one line
// each, and long ones, lists of mappings and what has them in the block style.
func (n *Node) YAML(without func(*Node) bool) string {
	var b strings.Builder
	c := n.left(without)
	c.print(&b, "", true)
	return b.String()
}

// left returns a copy of the node without some parts.
func (n *Node) left(without func(*Node) bool) *Node {
	c := *n
	c.Keys, c.Items, c.index = nil, nil, nil
	for i, item := range n.Items {
		if without(item) {
			continue
		}
		if c.Items = append(c.Items, item.left(without)); n.Kind == Mapping {
			c.Keys = append(c.Keys, n.Keys[i])
		}
	}
	return &c
}

// Keep removes the other items, with their keys.
func (n *Node) Keep(keep func(*Node) bool) {
	c := n.left(func(item *Node) bool { return !keep(item) })
	kept := slices.DeleteFunc(slices.Clone(n.Items), func(item *Node) bool { return !keep(item) })
	n.Keys, n.Items, n.index = c.Keys, kept, nil
}

// print writes the node, whose first line is begun unless it is a document.
func (n *Node) print(b *strings.Builder, indent string, document bool) {
	if !document && n.isShort(len(indent)) || len(n.Items) == 0 {
		b.WriteString(n.flow() + "\n")
		return
	}
	for i, item := range n.Items {
		if i > 0 {
			b.WriteString(indent)
		}
		if n.Kind == Sequence {
			b.WriteString("- ")
			item.print(b, indent+"  ", false)
			continue
		}
		name := Quoted(n.Keys[i].Name)
		short := item.isShort(len(indent) + len(name) + 2)
		inner := indent
		if item.Kind == Mapping {
			inner += "  "
		}
		if b.WriteString(name + ":"); short {
			b.WriteString(" ")
		} else {
			b.WriteString("\n" + inner)
		}
		item.print(b, inner, !short)
	}
}

// isShort reports whether the node is written on one line, which begins with other text.
func (n *Node) isShort(before int) bool {
	return len(n.Items) == 0 || !n.listsMappings() && before+len(n.flow()) <= lineLength
}

func (n *Node) listsMappings() bool {
	return slices.ContainsFunc(n.Items, func(item *Node) bool {
		return n.Kind == Sequence && item.Kind == Mapping || item.listsMappings()
	})
}

// flow returns the node on one line, so that it can be read again.
func (n *Node) flow() string {
	return n.inFlow(func(k Key) string { return Quoted(k.Name) }, func(n *Node) string {
		if n.Tag == "!!str" {
			return Quoted(n.Value)
		}
		return cmp.Or(n.Value, "null")
	})
}

// inFlow returns the node on one line, with a notation of its keys and scalars, without the fields
// named in omit.
func (n *Node) inFlow(key func(Key) string, scalar func(*Node) string, omit ...string) string {
	var list []string
	for i, item := range n.Items {
		switch {
		case n.Kind == Sequence:
			list = append(list, item.inFlow(key, scalar))
		case !slices.Contains(omit, n.Keys[i].Name):
			list = append(list, key(n.Keys[i])+": "+item.inFlow(key, scalar))
		}
	}
	switch text := strings.Join(list, ", "); n.Kind {
	case Mapping:
		return "{" + text + "}"
	case Sequence:
		return "[" + text + "]"
	}
	return scalar(n)
}
