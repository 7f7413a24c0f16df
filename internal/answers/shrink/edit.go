package shrink

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Edit sets fields of one scenario of a file, and drops the other scenarios and the comments. Edits
// is a list of paths and values: a value is YAML, and the path of a list with an index of "+" adds
// an item, as in spec.steps[+]. The file must load. Edit returns an error if a scenario is a
// variant, or if a path does not exist.
func Edit(data []byte, scenario string, edits []Field) ([]byte, error) {
	var left documents
	found := false
	for _, doc := range parse(data) {
		kind := field(doc, "kind")
		if kind == nil || kind.Value != "Scenario" {
			left = append(left, doc)
			continue
		}
		if name := field(field(doc, "metadata"), "name"); name == nil || name.Value != scenario {
			continue
		}
		found = true
		for _, e := range edits {
			value, err := valueNode(e.Value)
			if err != nil {
				return nil, err
			}
			if err := set(doc, strings.Split(e.Path, "."), value); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Path, err)
			}
		}
		left = append(left, doc)
	}
	if !found {
		return nil, fmt.Errorf("the file has no Scenario document named %q: write a variant as a scenario of its own "+
			"first", scenario)
	}
	return left.write(nil).text, nil
}

// Field is a field of a scenario, such as spec.steps[0].at, and its new value.
type Field struct{ Path, Value string }

func valueNode(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&doc); err != nil {
		return nil, err
	}
	value := plain(doc.Content[0])
	if len(text) > lineLength {
		value.Style &^= yaml.FlowStyle // one field a line
	}
	return value, nil
}

// lineLength is the length of a value that fits on a line.
const lineLength = 100

// set sets the field at a path below n. It adds mappings, and the list of an added item.
func set(n *yaml.Node, path []string, value *yaml.Node) error {
	name, index, listed := strings.Cut(path[0], "[")
	child := field(n, name)
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s is no field of a mapping", name)
	}
	if child == nil {
		child = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if listed {
			child = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, child)
	}
	if listed {
		index = strings.TrimSuffix(index, "]")
		if index == "+" {
			child.Content = append(child.Content, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
			index = strconv.Itoa(len(child.Content) - 1)
		}
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= len(child.Content) {
			return fmt.Errorf("%s has no item %s", name, index)
		}
		child = child.Content[i]
	}
	if len(path) > 1 {
		return set(child, path[1:], value)
	}
	*child = *value
	return nil
}
