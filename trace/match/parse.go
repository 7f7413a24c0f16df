package match

import (
	"slices"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// UnmarshalNode decodes a mapping, FIELD: match, …, and reports errors at n. Check resolves the types of the
// fields, because they depend on the subject.
func (f *Fields) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping of fields, as in {ready: true}")
		return
	}
	if len(n.Keys) == 0 {
		n.Errorf("must have at least one field")
	}
	for i, key := range n.Keys {
		item := n.Items[i]
		if item.Kind != strict.Scalar || !item.Written() {
			item.Errorf("must be a single value, such as true, 1.. or /text/")
		}
		*f = append(*f, Field{Name: key.Name})
	}
}

// Check resolves the types of fields that were decoded from n, and reports errors at n. The fields belong to a
// container, or to the pod if container is empty.
func (f Fields) Check(n *strict.Node, container string) {
	for i := range f {
		typ, words, ok := statusField(n.Items[i], f[i].Name, container)
		if ok {
			f[i].Match = parseMatch(n.Items[i], f[i].Name, typ, words)
		}
	}
}

// statusField returns the type of a field. It returns false after reporting that the field does not exist.
func statusField(n *strict.Node, name, container string) (value.Type, []string, bool) {
	ofPod, ofContainer := find(podFields, name), find(containerFields, name)
	switch {
	case container == "" && ofPod != nil:
		return ofPod.typ, ofPod.words, true
	case container != "" && ofContainer != nil:
		return ofContainer.typ, ofContainer.words, true
	case ofContainer != nil:
		n.Errorf("%s is a field of a container: set container", name)
	case ofPod != nil:
		n.Errorf("%s is a field of the pod: leave out container", name)
	case container == "":
		n.Errorf("unknown field of a pod%s", strict.DidYouMean(name, names(podFields)))
	default:
		n.Errorf("unknown field of a container%s", strict.DidYouMean(name, names(containerFields)))
	}
	return 0, nil, false
}

// maxExitCode is the highest exit code of a program.
const maxExitCode = 255

// parseMatch parses a condition on a field. It reports a condition that can never hold, because an expectation of
// never would then always pass.
func parseMatch(n *strict.Node, name string, typ value.Type, words []string) value.Match {
	m, err := value.ParseMatch(typ, n.Value)
	matches := func(word string) bool { return m.Matches(value.TextOf(word)) }
	switch {
	case err != nil:
		n.Errorf("%s", err)
	case words != nil && !slices.ContainsFunc(words, matches):
		n.Errorf("%s is never %s%s", name, strict.Quote(n.Value), strict.DidYouMean(n.Value, words))
	case name == "exitCode" && m.Above(maxExitCode):
		n.Errorf("exitCode is never %s: the highest is %d", m, maxExitCode)
	}
	return m
}

// UnmarshalNode decodes {kind: KIND, FIELD: match, …}.
func (r *Record) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping with the kind of record, as in {kind: ContainerStarted}")
		return
	}
	kind := n.Field("kind")
	fields, known := fieldsOf(trace.Kind(kind.Value))
	switch {
	case kind.Kind != strict.Scalar || kind.Value == "":
		kind.Errorf("is required: the kind of record, such as ContainerStarted")
		return
	case !known:
		kind.Errorf("unknown kind of record %s%s", strict.Quote(kind.Value), strict.DidYouMean(kind.Value, kinds()))
		return
	}
	r.Kind = trace.Kind(kind.Value)
	for i, key := range n.Keys {
		if key.Name != "kind" {
			r.field(n.Items[i], key.Name, fields)
		}
	}
}

func (r *Record) field(n *strict.Node, name string, fields []string) {
	switch {
	case name == "pod" || name == "container" || name == "instance":
		n.Errorf("write %s next to record, not in it", name)
		return
	case !slices.Contains(fields, name):
		n.Errorf("unknown field of %s%s", r.Kind, strict.DidYouMean(name, fields))
		return
	case n.Kind != strict.Scalar || !n.Written():
		n.Errorf("must be a single value, such as failure, 1.. or /text/")
		return
	}
	f := find(recordFields, name)
	words := f.words
	if name == "reason" {
		words = reasons[r.Kind]
	}
	r.Fields = append(r.Fields, Field{Name: name, Match: parseMatch(n, name, f.typ, words)})
}

// CheckScope reports the fields pod, container and instance of n, the mapping that contains the record, if
// records of this kind do not have them.
func (r *Record) CheckScope(n *strict.Node) {
	reject := func(of string, names ...string) {
		for _, name := range names {
			if field := n.Field(name); field.Written() {
				field.Errorf("%s is about %s: leave out %s", r.Kind, of, name)
			}
		}
	}
	for _, k := range recordKinds {
		switch {
		case k.kind != r.Kind:
		case k.about == aboutNode:
			reject("the node", "pod", "container", "instance")
		case k.about == aboutPod:
			reject("a pod", "container", "instance")
		}
	}
}

// UnmarshalNode decodes {FIELD: [v, …]}.
func (t *Transitions) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping || len(n.Keys) != 1 {
		n.Errorf("must be a mapping of one field to the list of its values, as in {restartCount: [0, 1, any]}")
		return
	}
	t.Field = n.Keys[0].Name
	items := n.Items[0].Items
	if n.Items[0].Kind != strict.Sequence || len(items) == 0 {
		n.Items[0].Errorf("must be the list of its values, as in [0, 1, any]")
		return
	}
	if last := items[len(items)-1]; len(items) > 1 && last.Value == "any" {
		t.Any = true
		items = items[:len(items)-1]
	}
	for _, item := range items {
		switch {
		case item.Kind != strict.Scalar || !item.Written():
			item.Errorf("must be a single value, such as true or 1")
		case item.Value == "any":
			item.Errorf("any must be the last of several values: it matches any values that follow")
		}
	}
	t.Values = make([]value.Match, len(items))
}

// Check resolves the type of the field, and reports errors at n. The field belongs to a container, or to the
// pod if container is empty.
func (t *Transitions) Check(n *strict.Node, container string) {
	list := n.Field(t.Field)
	typ, words, ok := statusField(list, t.Field, container)
	for i := range t.Values {
		if ok {
			t.Values[i] = parseMatch(list.Index(i), t.Field, typ, words)
		}
	}
}

func fieldsOf(kind trace.Kind) ([]string, bool) {
	for _, k := range recordKinds {
		if k.kind == kind {
			return k.fields, true
		}
	}
	return nil, false
}

func kinds() []string {
	var list []string
	for _, k := range recordKinds {
		list = append(list, string(k.kind))
	}
	return list
}

func names[T any](fields []field[T]) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	return list
}
