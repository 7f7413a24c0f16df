package match

import (
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// UnmarshalNode decodes a mapping, FIELD: match, …, and reports errors at n. Check resolves the
// types of the fields, because they depend on the subject.
func (f *Fields) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping of fields, as in {ready: true}")
		return
	}
	n.ErrorIf(len(n.Keys) == 0, "must have at least one field")
	for i, key := range n.Keys {
		item := n.Items[i]
		item.ErrorIf(item.Kind != strict.Scalar || !item.Written(),
			"must be a single value, such as true, 1.. or /text/")
		*f = append(*f, Field{Name: key.Name})
	}
}

// Check resolves the types of fields that were decoded from n, and reports errors at n. The fields
// belong to a container, or to the pod if container is empty. reasons are those that the status of
// a container can have; nil: any.
func (f Fields) Check(n *strict.Node, container string, reasons []string) {
	for i := range f {
		if typ, words, ok := statusField(n.Items[i], f[i].Name, container, reasons); ok {
			f[i].Match, _ = parseMatch(n.Items[i], f[i].Name, typ, words)
			f[i].checkProves(n.Items[i])
		}
	}
}

// checkProves reports an error about a field that every status meets. Those with bounds need not be
// there.
func (f Field) checkProves(n *strict.Node) {
	if _, bounded := bounds[f.Name]; f.Match.Every() && !bounded && !n.Bad() {
		n.Errorf("%s is any number, so it always holds: leave it out", f.Match)
	}
}

// OfContainer reports whether a container can have such values: each field is one of a container,
// with a possible reason. n is the node that the fields were decoded from.
func (f Fields) OfContainer(n *strict.Node, reasons []string) bool {
	for i := range f {
		if find(containerFields, f[i].Name) == nil {
			return false
		}
		if f[i].Name != "reason" || reasons == nil {
			continue
		}
		m, err := value.ParseMatch(value.Text, n.Items[i].Value)
		has := func(reason string) bool { return m.Matches(value.TextOf(reason)) }
		if err == nil && !slices.ContainsFunc(reasons, has) {
			return false
		}
	}
	return len(f) > 0
}

// statusField returns the type of a field and its possible words. It returns false after reporting
// that the field does not exist.
func statusField(n *strict.Node, name, container string, reasons []string) (value.Type, []string, bool) {
	ofPod, ofContainer := find(podFields, name), find(containerFields, name)
	switch {
	case container == "" && name == "reason":
		return value.Text, PodReasons, true
	case name == "reason":
		return value.Text, reasons, true
	case container == "" && ofPod != nil:
		return ofPod.typ, ofPod.words, true
	case container != "" && ofContainer != nil:
		return ofContainer.typ, ofContainer.words, true
	case ofContainer != nil:
		n.Errorf("%s is a field of a container: set container", name)
	case ofPod != nil:
		n.Errorf("%s is a field of the pod: leave out container", name)
	case container == "":
		n.Errorf("unknown field of a pod%s", strict.OrList(name, names(podFields)))
	default:
		n.Errorf("unknown field of a container%s", strict.OrList(name, names(containerFields)))
	}
	return 0, nil, false
}

// bounds are the lowest and highest values of numbers. A grace period is at least 2 s
// (minimumGracePeriodInSeconds in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
var bounds = map[string]value.IntRange{
	"exitCode":     {Min: 0, Max: 255},
	"lastExitCode": {Min: 0, Max: 255},
	"graceSeconds": {Min: 2, Max: value.OpenMax},
}

// parseMatch parses a condition on a field. It returns false after it reports an error. A condition
// that can never hold is an error, because an expectation of never would then always pass.
func parseMatch(n *strict.Node, name string, typ value.Type, words []string) (value.Match, bool) {
	m, err := value.ParseMatch(typ, n.Value)
	bound, bounded := bounds[name]
	matches := func(word string) bool { return m.Matches(value.TextOf(word)) }
	switch {
	case err != nil:
		n.Errorf("%s", err)
	case words != nil && !slices.ContainsFunc(words, matches) && matches("OOMKilled"):
		n.Errorf("%s is never %s: no kill step gives this reason", name, strict.Quote(n.Value))
	case words != nil && !slices.ContainsFunc(words, matches):
		n.Errorf("%s is never %s%s", name, strict.Quote(n.Value), strict.OrList(n.Value, words))
	case bounded && !m.Overlaps(int64(bound.Min), int64(bound.Max)):
		n.Errorf("%s is never %s: it is in %s", name, m, &bound)
	default:
		return m, true
	}
	return m, false
}

// UnmarshalNode decodes {kind: KIND, FIELD: match, …}.
func (r *Record) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping with the kind of record, as in {kind: ContainerStarted}")
		return
	}
	kind := n.Field("kind")
	described := kindOf(trace.Kind(kind.Value))
	switch {
	case kind.Kind != strict.Scalar || kind.Value == "":
		kind.Errorf("is required: the kind of record, such as ContainerStarted")
		return
	case described == nil:
		kind.Errorf("unknown kind of record %s%s", strict.Quote(kind.Value), strict.OrList(kind.Value, RecordKinds()))
		return
	}
	r.Kind = trace.Kind(kind.Value)
	for i, key := range n.Keys {
		if key.Name != "kind" {
			r.field(n.Items[i], key.Name, described)
		}
	}
}

func (r *Record) field(n *strict.Node, name string, kind *Kind) {
	switch {
	case name == "pod" || name == "container" || name == "instance":
		n.Errorf("write %s next to record, not in it", name)
		return
	case !slices.Contains(kind.Fields, name):
		n.Errorf("unknown field of %s%s", r.Kind, strict.OrList(name, kind.Fields))
		return
	case n.Kind != strict.Scalar || !n.Written():
		n.Errorf("must be a single value, such as failure, 1.. or /text/")
		return
	case r.Kind == trace.Event && name == "message" && n.Value == "":
		n.Errorf("no event has an empty message: leave the field out, or write a part of it as /text/")
		return
	}
	if m, ok := parseMatch(n, name, find(recordFields, name).typ, kind.words(name)); ok {
		r.Fields = append(r.Fields, Field{Name: name, Match: m})
	}
}

// CheckScope reports the fields pod, container and instance of n, the mapping that contains the
// record, if the records that r matches do not have them, and reports conditions that no record
// meets together.
func (r *Record) CheckScope(n *strict.Node) {
	about := map[About]bool{}
	for _, s := range r.Shapes(false) {
		about[s.About] = true
	}
	switch {
	case len(about) == 0:
		n.Field("record").Errorf("no %s has these values together", r.words())
	case about[Container]:
	case about[Pod]:
		n.Refuse([]string{"container", "instance"}, "%s is about a pod: leave it out", r.words())
	default:
		n.Refuse([]string{"pod", "container", "instance"}, "%s is about the node: leave it out", r.words())
	}
}

// words describes the records that r matches.
func (r *Record) words() string {
	if len(r.Fields) == 0 {
		return string(r.Kind)
	}
	return string(r.Kind) + " {" + strings.Join(printable.Words(r.Fields, Field.String), ", ") + "}"
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

// Check resolves the type of the field, and reports errors at n. The field belongs to a container,
// or to the pod if container is empty.
func (t *Transitions) Check(n *strict.Node, container string, reasons []string) {
	list := n.Field(t.Field)
	typ, words, ok := statusField(list, t.Field, container, reasons)
	for i := range t.Values {
		if ok {
			t.Values[i], _ = parseMatch(list.Index(i), t.Field, typ, words)
		}
	}
}

func names[T any](fields []field[T]) []string {
	return printable.Words(fields, func(f field[T]) string { return f.name })
}
