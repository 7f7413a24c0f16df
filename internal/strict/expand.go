package strict

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// expander converts YAML nodes to Nodes, with aliases and merges expanded, within the limits.
type expander struct {
	file  string
	lines int // lines of the file before the document
	errs  *Collector
	nodes int
	full  bool                // a limit was exceeded; the rest of the file is skipped
	open  map[*yaml.Node]bool // anchored nodes under expansion
}

func (x *expander) document(doc *yaml.Node) *Node {
	if len(doc.Content) == 0 {
		return nil
	}
	x.open = map[*yaml.Node]bool{}
	return x.expand(doc.Content[0], &Node{errs: x.errs}, 1)
}

func (x *expander) pos(y *yaml.Node) Pos { return Pos{x.file, x.lines + y.Line, y.Column} }

// expand fills n, which is already linked to its parent, from a YAML node.
func (x *expander) expand(y *yaml.Node, n *Node, depth int) *Node {
	n.Pos = x.pos(y)
	if y.Kind == yaml.AliasNode {
		return x.alias(y, n, depth)
	}
	if x.nodes++; x.nodes > MaxNodes {
		x.giveUp(n, "with all aliases expanded, the file has more than %d values", MaxNodes)
	}
	if depth > MaxDepth {
		x.giveUp(n, "mappings and lists are nested more than %d levels deep", MaxDepth)
	}
	if x.full {
		return n
	}
	if y.Anchor != "" {
		x.open[y] = true
		defer delete(x.open, y)
	}
	n.Kind = kindNames[y.Kind]
	switch y.Kind {
	case yaml.ScalarNode:
		x.scalar(y, n)
	case yaml.SequenceNode:
		x.checkTag(y, n)
		for i, item := range y.Content {
			n.Items = append(n.Items, x.expand(item, &Node{parent: n, step: indexStep(i)}, depth+1))
		}
	case yaml.MappingNode:
		x.checkTag(y, n)
		x.mapping(y, n, depth)
	}
	return n
}

func (x *expander) giveUp(n *Node, format string, args ...any) {
	if !x.full {
		x.full = true
		n.Errorf(format, args...)
	}
}

func (x *expander) alias(y *yaml.Node, n *Node, depth int) *Node {
	target := y.Alias
	if x.open[target] {
		n.Errorf("the alias *%s is inside the value that it stands for", y.Value)
		return n
	}
	return x.expand(target, n, depth)
}

func (x *expander) scalar(y *yaml.Node, n *Node) {
	n.Tag, n.Value = y.ShortTag(), y.Value
	n.quoted = y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	x.checkTag(y, n)
}

// checkTag reports explicit tags. The notation of a value determines its type.
func (x *expander) checkTag(y *yaml.Node, n *Node) {
	if y.Style&yaml.TaggedStyle != 0 {
		n.Errorf("the tag %s is not supported: leave it out", y.ShortTag())
	}
}

// firstKey is the first occurrence of a key in a mapping.
type firstKey struct {
	Pos
	index int
}

// mapping fills the keys of n: its own keys first, then merged keys that it does not have.
func (x *expander) mapping(y *yaml.Node, n *Node, depth int) {
	seen := map[string]firstKey{}
	for i := 0; i+1 < len(y.Content) && !x.full; i += 2 {
		key, val := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		pos := x.pos(y.Content[i])
		switch first, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			n.wrong = true
			n.errorAt(pos, "a key must be text, not a mapping or list")
		case key.ShortTag() == "!!merge":
		case twice:
			(&Node{parent: n, step: step(key.Value)}).errorAt(pos, "this key is already set in line %d", first.Line)
			n.Items[first.index].wrong = true // it is unknown which of the two is meant
		default:
			seen[key.Value] = firstKey{pos, len(n.Keys)}
			x.entry(n, key.Value, pos, val, depth)
		}
	}
	for i := 0; i+1 < len(y.Content) && !x.full; i += 2 {
		if key := y.Content[i]; key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			x.merge(y.Content[i+1], n, seen, depth)
		}
	}
}

func (x *expander) entry(n *Node, key string, pos Pos, val *yaml.Node, depth int) {
	n.Keys = append(n.Keys, Key{Name: key, Pos: pos})
	n.Items = append(n.Items, x.expand(val, &Node{parent: n, step: step(key)}, depth+1))
}

// merge adds the keys of the value of a merge key (<<), a mapping or a list of mappings, that n does not have.
func (x *expander) merge(from *yaml.Node, n *Node, seen map[string]firstKey, depth int) {
	scratch := x.expand(from, &Node{parent: n, step: "<<"}, depth)
	sources := []*Node{scratch}
	if scratch.Kind == Sequence {
		sources = scratch.Items
	}
	for _, source := range sources {
		if source.Kind != Mapping {
			if !x.full && !source.Bad() {
				source.Errorf("a merge needs a mapping, not %s", source.describe())
			}
			continue
		}
		for i, k := range source.Keys {
			if _, has := seen[k.Name]; has {
				continue
			}
			seen[k.Name] = firstKey{k.Pos, len(n.Keys)}
			n.Keys = append(n.Keys, k)
			n.Items = append(n.Items, source.Items[i])
			source.Items[i].parent = n
		}
	}
}

// step returns a key as part of a path, shortened if it is long.
func step(key string) string {
	const longest = 60
	if len(key) > longest {
		return strings.ToValidUTF8(key[:longest], "") + "…"
	}
	return key
}
