package strict

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/printable"
)

// Kind is the kind of a node. The zero value is Missing.
type Kind int

const (
	Missing Kind = iota // not written in the file
	Scalar
	Mapping
	Sequence
)

// Node is a part of a document: a YAML node with aliases and merges expanded. It knows its
// position, its path, and whether it contains errors.
type Node struct {
	Kind   Kind
	Tag    string // resolved tag of a scalar: !!str, !!int, !!float, !!bool, !!null or !!timestamp
	Value  string // of a scalar
	Keys   []Key  // of a mapping; Items has the values
	Items  []*Node
	Pos    Pos
	quoted bool

	index  map[string]int // of Keys; nil if it has to be built
	parent *Node
	step   string     // part of the path: a field name or an index in brackets
	path   string     // of a node that came from elsewhere; empty: the path of the parent and the step
	bad    bool       // the node or a part of it is wrong
	wrong  bool       // the node itself is wrong
	unread bool       // Decode found the node itself wrong
	errs   *Collector // set in the root only
}

// Key is a key of a mapping. A misspelled key has the name that it stands for, after the error was
// reported.
type Key struct {
	Name string
	Pos  Pos

	ignored bool // Decode skips it
}

// NewMapping returns an empty mapping for values that come from a Go program instead of a file.
// Errors about it and the nodes in it have a path and no position, and go to errs.
func NewMapping(errs *Collector) *Node { return &Node{Kind: Mapping, errs: errs} }

// Put adds a node to a mapping or list and returns it. The name is the key in a mapping; lists
// ignore it. The step is the part that the node adds to paths, usually the name or an index in
// brackets; a node without a step has the path of its parent. The value is the text of a scalar.
func (n *Node) Put(name, step string, kind Kind, value string) *Node {
	item := &Node{Kind: kind, Value: value, parent: n, step: step}
	if kind == Scalar {
		item.Tag, item.quoted = "!!str", !plainWord.MatchString(value)
	}
	if n.Kind == Mapping {
		n.Keys = append(n.Keys, Key{Name: name})
		n.index = nil
	}
	n.Items = append(n.Items, item)
	return item
}

// Within makes the root of a document a field of a mapping, or the only item of a list if the step
// is [0], and returns this.
func (n *Node) Within(step string) *Node {
	root := &Node{Kind: Sequence, errs: n.errs, Pos: n.Pos, Items: []*Node{n}}
	if step != "[0]" {
		root.Kind, root.Keys = Mapping, []Key{{Name: step}}
	}
	n.parent, n.step, n.errs = root, step, nil
	return root
}

// Field returns the value of a field. If the field is not written, it returns a Missing node with
// the position of the mapping.
func (n *Node) Field(name string) *Node {
	if i, has := n.find(name); has {
		return n.Items[i]
	}
	return &Node{Pos: n.Pos, parent: n, step: name}
}

// find returns the index of the first key with this name.
func (n *Node) find(name string) (int, bool) {
	if len(n.Keys) <= fewKeys {
		i := slices.IndexFunc(n.Keys, func(k Key) bool { return k.Name == name })
		return i, i >= 0
	}
	if n.index == nil {
		n.index = make(map[string]int, len(n.Keys))
		for i, k := range slices.Backward(n.Keys) {
			n.index[k.Name] = i
		}
	}
	i, has := n.index[name]
	return i, has
}

// fewKeys is the number of keys up to which a search is faster than an index.
const fewKeys = 32

// Index returns an item of a list, or a Missing node.
func (n *Node) Index(i int) *Node {
	if n.Kind == Sequence && i < len(n.Items) {
		return n.Items[i]
	}
	return &Node{Pos: n.Pos, parent: n, step: indexStep(i)}
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// Find returns the node at a field path such as spec.containers[0].name, which may be Missing. A
// path segment in brackets is an index of a list or a key of a mapping.
func (n *Node) Find(path string) *Node {
	for path != "" {
		var name string
		if rest, ok := strings.CutPrefix(path, "["); ok {
			name, path, _ = strings.Cut(rest, "]")
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && n.Kind != Mapping {
				n = n.Index(i)
			} else {
				n = n.Field(name)
			}
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			name, path = path[:end], path[end:]
			n = n.Field(name)
		}
		path = strings.TrimPrefix(path, ".")
	}
	return n
}

// Written reports whether the node is written and is not null.
func (n *Node) Written() bool { return n.Kind != Missing && !n.isNull() }

func (n *Node) isNull() bool { return n.Kind == Scalar && n.Tag == "!!null" }

// Path returns the field path of the node, as in spec.pods[0].name.
func (n *Node) Path() string {
	if n.path != "" {
		return n.path
	}
	if n.parent == nil {
		return n.step
	}
	prefix := n.parent.Path()
	if n.step == "" || prefix == "" || strings.HasPrefix(n.step, "[") {
		return prefix + n.step
	}
	return prefix + "." + n.step
}

// Errorf reports an error in the node. It does nothing if the node is Unread: what seems to be
// missing or odd may only be unread.
func (n *Node) Errorf(format string, args ...any) {
	if !n.Unread() {
		n.wrong = true
		n.errorAt(n.Pos, format, args...)
	}
}

// ErrorIf reports an error in the node if something is wrong.
func (n *Node) ErrorIf(wrong bool, format string, args ...any) {
	if wrong {
		n.Errorf(format, args...)
	}
}

// KeyErrorf reports an error in key i of a mapping, as Errorf does for the value of the key.
func (n *Node) KeyErrorf(i int, format string, args ...any) {
	if item := n.Items[i]; !item.Unread() {
		item.wrong = true
		item.errorAt(n.Keys[i].Pos, format, args...)
	}
}

// Unread reports whether Decode found the node itself wrong, so that its value is unknown. A
// Missing node is unread if its parent is.
func (n *Node) Unread() bool {
	for n.Kind == Missing && n.parent != nil {
		n = n.parent
	}
	return n.unread
}

// settle marks nodes that are wrong at the end of decoding as unread.
func (n *Node) settle() {
	n.unread = n.wrong
	for _, item := range n.Items {
		item.settle()
	}
}

func (n *Node) errorAt(pos Pos, format string, args ...any) {
	for bad := n; bad != nil; bad = bad.parent {
		bad.bad = true
	}
	errs := n.collector()
	if errs.full() {
		errs.more++
		return
	}
	errs.Add(Error{Pos: pos, Path: n.Path(), Message: fmt.Sprintf(format, args...)})
}

// collector returns the collector of the errors of the document.
func (n *Node) collector() *Collector {
	for n.parent != nil {
		n = n.parent
	}
	return n.errs
}

// Full reports whether further errors are only counted.
func (n *Node) Full() bool { return n.collector().full() }

// Bad reports whether the node or a part of it is wrong.
func (n *Node) Bad() bool { return n.bad }

// placeholder matches what templates have for a value: $NAME, ${name}, __NAME__, @NAME@, <name>.
var placeholder = regexp.MustCompile(`^(\$\w+|\$[{(][\w.-]+[)}]|__\w+__|@\w+@|<[\w -]+>)$`)

// describe describes the value of the node for a message.
func (n *Node) describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == Sequence:
		return "a list"
	case n.Kind == Missing || n.isNull():
		return "nothing"
	case n.Tag == "!!bool":
		return "the boolean " + n.Value
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + n.Value
	}
	if placeholder.MatchString(n.Value) {
		return "the placeholder " + Quote(n.Value) + ", which is not filled in"
	}
	return "the string " + Quote(n.Value)
}

// Text returns the node on one line, in YAML's flow style and in the order of the file, without the
// fields named in omit.
func (n *Node) Text(omit ...string) string {
	key := func(k Key) string {
		if k.Pos.Line == 0 && !plainKey.MatchString(k.Name) {
			return printable.Text(strconv.Quote(k.Name))
		}
		return k.Name
	}
	return n.inFlow(key, func(n *Node) string {
		if n.quoted {
			return strconv.Quote(n.Value)
		}
		return n.Value
	}, omit...)
}

// Quote quotes text from a file, shortened if it is long.
func Quote(s string) string {
	const longest = 60
	if len(s) > longest {
		return printable.Text(strconv.Quote(strings.ToValidUTF8(s[:longest], ""))) + "…"
	}
	return printable.Text(strconv.Quote(s))
}

var kindNames = map[yaml.Kind]Kind{yaml.ScalarNode: Scalar, yaml.MappingNode: Mapping, yaml.SequenceNode: Sequence}

// Size returns the number of values in the node, including itself, and the bytes of its keys and
// values.
func (n *Node) Size() (values, text int) {
	values, text = 1, len(n.Value)
	for _, key := range n.Keys {
		text += len(key.Name)
	}
	for _, item := range n.Items {
		v, t := item.Size()
		values, text = values+v, text+t
	}
	return values, text
}

// Comparisons returns the number of pairs of items in the lists of the node, at any depth.
func (n *Node) Comparisons() int {
	count := 0
	if n.Kind == Sequence {
		count = len(n.Items) * len(n.Items)
	}
	for _, item := range n.Items {
		count += item.Comparisons()
	}
	return count
}

// Name returns the field name of the node, or its index in brackets.
func (n *Node) Name() string { return n.step }

// Skip makes Decode skip these fields of a mapping.
func (n *Node) Skip(names ...string) {
	for i := range n.Keys {
		n.Keys[i].ignored = n.Keys[i].ignored || slices.Contains(names, n.Keys[i].Name)
	}
}

// Ignore makes Decode skip the keys, at any depth, for which ignored returns true.
func (n *Node) Ignore(ignored func(key string) bool) {
	for i, item := range n.Items {
		if n.Kind == Mapping {
			n.Keys[i].ignored = ignored(n.Keys[i].Name)
		}
		item.Ignore(ignored)
	}
}

// Refuse reports the fields of a mapping that are written and must not be.
func (n *Node) Refuse(names []string, format string, args ...any) {
	for _, field := range n.WrittenOf(names...) {
		n.Field(field).Errorf(format, args...)
	}
}

// WrittenOf returns those of some fields of a mapping that are written.
func (n *Node) WrittenOf(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !n.Field(name).Written() })
}

// WrittenBeside reports whether a mapping has fields other than these, including unknown ones.
func (n *Node) WrittenBeside(names ...string) bool {
	for i, key := range n.Keys {
		if n.Items[i].Written() && !slices.Contains(names, key.Name) {
			return true
		}
	}
	return false
}
