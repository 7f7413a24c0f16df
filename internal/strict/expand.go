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
	text  int                 // bytes of keys and values
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
	if !x.count(n, depth) {
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
		for i := 0; i < len(y.Content) && !x.full; i++ {
			n.Items = append(n.Items, x.expand(y.Content[i], &Node{parent: n, step: indexStep(i)}, depth+1))
		}
	case yaml.MappingNode:
		x.checkTag(y, n)
		has := map[string]bool{} // also those of its merge keys (<<)
		x.entries(y, n, has, depth)
		x.merges(y, n, has, depth)
	}
	return n
}

// count counts a value and reports whether the file is within the limits.
func (x *expander) count(n *Node, depth int) bool {
	if x.nodes++; x.nodes > MaxNodes {
		x.giveUp(n, "with all aliases and merges expanded, the file has more than %d values", MaxNodes)
	}
	if depth > MaxDepth {
		x.giveUp(n, "mappings, lists and merges are nested more than %d levels deep", MaxDepth)
	}
	return !x.full
}

// countText counts the text of a key or value. An alias of a long text costs little here, but later
// checks read each copy.
func (x *expander) countText(n *Node, text string) bool {
	if x.text += len(text); x.text > MaxText {
		x.giveUp(n, "with all aliases and merges expanded, the file has more than %d MiB of text", MaxText>>20)
	}
	return !x.full
}

func (x *expander) giveUp(n *Node, format string, args ...any) {
	if !x.full {
		x.full = true
		n.Errorf(format, args...)
	}
}

func (x *expander) alias(y *yaml.Node, n *Node, depth int) *Node {
	if x.open[y.Alias] {
		x.count(n, depth)
		n.Errorf("the alias *%s is inside the value that it stands for", y.Value)
		return n
	}
	return x.expand(y.Alias, n, depth)
}

func (x *expander) scalar(y *yaml.Node, n *Node) {
	n.Value = y.Value
	n.Tag, n.quoted = resolve(y)
	x.countText(n, y.Value)
	x.checkTag(y, n)
}

// checkTag reports explicit tags. The notation of a value determines its type.
func (x *expander) checkTag(y *yaml.Node, n *Node) {
	if y.Style&yaml.TaggedStyle != 0 {
		n.Errorf("the tag %s is not supported: leave it out", y.ShortTag())
	}
}

// entry is the first entry of a mapping with a key.
type entry struct {
	line int
	item *Node
}

// entries adds the entries of y that n does not have, without those of merge keys. It expands the
// others too, which finds the mistakes in them and counts them.
func (x *expander) entries(y *yaml.Node, n *Node, has map[string]bool, depth int) {
	own := map[string]entry{}
	for i := 0; i+1 < len(y.Content) && !x.full; i += 2 {
		key, pos := aliased(y.Content[i]), x.pos(y.Content[i])
		if !x.countText(n, key.Value) {
			return
		}
		name, isName := keyName(key)
		refuse := func(format string, args ...any) {
			x.count(n, depth)
			n.wrong = true
			n.errorAt(pos, format, args...)
		}
		switch first, twice := own[name]; {
		case key.Kind != yaml.ScalarNode:
			refuse("a key must be text, not a mapping or list")
		case isMerge(key):
		case key.Style&yaml.TaggedStyle != 0:
			refuse("the tag %s is not supported: leave it out", key.ShortTag())
		case !isName:
			refuse("a key must be text: put %s in quotes", Quote(key.Value))
		case twice:
			x.count(n, depth)
			(&Node{parent: n, step: step(key.Value)}).errorAt(pos, "this key is already set in line %d", first.line)
			first.item.wrong, first.item.bad = true, true // it is unknown which of the two is meant
		default:
			item := x.expand(y.Content[i+1], &Node{parent: n, step: step(key.Value)}, depth+1)
			own[name] = entry{pos.Line, item}
			if !has[name] {
				has[name] = true
				n.Keys = append(n.Keys, Key{Name: name, Pos: pos})
				n.Items = append(n.Items, item)
			}
		}
	}
}

// merges adds the entries of the values of the merge keys of y that n does not have. Such a value
// is a mapping or a list of mappings.
func (x *expander) merges(y *yaml.Node, n *Node, has map[string]bool, depth int) {
	for i := 0; i+1 < len(y.Content) && !x.full; i += 2 {
		key, from := y.Content[i], y.Content[i+1]
		if !isMerge(key) {
			continue
		}
		at := &Node{parent: n, step: "<<"}
		list := aliased(from)
		if list.Kind != yaml.SequenceNode {
			x.merge(from, at, n, has, depth)
			continue
		}
		x.checkTag(list, at)
		for i, item := range list.Content {
			x.merge(item, &Node{parent: at, step: indexStep(i)}, n, has, depth)
		}
	}
}

// merge adds the entries of a mapping that n does not have. It reports errors about the mapping
// itself at the node at. A merge counts as a value and as a level of nesting: in a chain of merges
// each one copies all entries.
func (x *expander) merge(from *yaml.Node, at, n *Node, has map[string]bool, depth int) {
	y := aliased(from)
	if y.Kind != yaml.MappingNode || x.open[y] {
		if x.expand(from, at, depth); !x.full && !at.Bad() {
			at.Errorf("a merge needs a mapping, not %s", at.describe())
		}
		return
	}
	at.Pos = x.pos(from)
	if !x.count(at, depth+1) {
		return
	}
	if y.Anchor != "" {
		x.open[y] = true
		defer delete(x.open, y)
	}
	x.checkTag(y, at)
	x.entries(y, n, has, depth+1)
	x.merges(y, n, has, depth+1)
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

// aliased returns the node that an alias stands for, or else the node itself.
func aliased(y *yaml.Node) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		return y.Alias
	}
	return y
}

// step returns a key as part of a path, shortened if it is long.
func step(key string) string {
	const longest = 60
	if len(key) > longest {
		return strings.ToValidUTF8(key[:longest], "") + "…"
	}
	return key
}
