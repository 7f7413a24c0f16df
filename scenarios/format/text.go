package format

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Behavior scripts the programs in the containers of a pod. The keys are container names. A
// container without rules runs forever and answers every probe with ok.
type Behavior map[string][]RuleText

// Decode reads the rules and adds their nodes to an entry of spec.pods.
func (b Behavior) Decode(entry *strict.Node) []Container {
	list := entry.Put("containers", "behavior", strict.Sequence, "")
	var containers []Container
	for _, name := range slices.Sorted(maps.Keys(b)) {
		n := list.Put("", "["+strconv.Quote(name)+"]", strict.Mapping, "")
		n.Put("name", "", strict.Scalar, name)
		rules := n.Put("behavior", "", strict.Sequence, "")
		for i := range b[name] {
			b[name][i].put(rules.Put("", "["+strconv.Itoa(i)+"]", strict.Mapping, ""))
		}
		var c Container
		strict.Decode(n, &c)
		for i := range c.Behavior {
			c.Behavior[i].Handler = b[name][i].Handler
		}
		containers = append(containers, c)
	}
	return containers
}

// put adds the fields of the rule to a mapping.
func (r *RuleText) put(n *strict.Node) {
	for field, v := range reflect.ValueOf(r).Elem().Fields() {
		name := strings.ToLower(field.Name[:1]) + field.Name[1:]
		switch v := v.Interface().(type) {
		case string:
			if v != "" {
				putAnswers(n, name, name, v)
			}
		case bool:
			if v {
				n.Put(name, name, strict.Scalar, "true").Tag = "!!bool"
			}
		case map[string]string:
			if len(v) > 0 {
				n := n.Put(name, name, strict.Mapping, "")
				for _, at := range slices.Sorted(maps.Keys(v)) {
					putAnswers(n, at, "["+strconv.Quote(at)+"]", v[at])
				}
			}
		}
	}
}

// putAnswers adds the node of a value: a list in brackets, the container that answers in braces, or
// a scalar.
func putAnswers(n *strict.Node, name, step, text string) {
	if by, is := strings.CutPrefix(text, "{answeredBy:"); is && strings.HasSuffix(by, "}") {
		n.Put(name, step, strict.Mapping, "").Put("answeredBy", "answeredBy", strict.Scalar,
			strings.TrimSpace(strings.TrimSuffix(by, "}")))
		return
	}
	inner, isList := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !isList || !closed {
		n.Put(name, step, strict.Scalar, text)
		return
	}
	series := n.Put(name, step, strict.Sequence, "")
	for i, item := range strings.Split(inner, ",") {
		series.Put("", "["+strconv.Itoa(i)+"]", strict.Scalar, strings.TrimSpace(item))
	}
}
