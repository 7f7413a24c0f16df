package shrink

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Edit sets fields of one scenario of a file, and drops the other scenarios and the comments. Edits
// is a list of paths and values: a value is YAML, and the path of a list with an index of "+" adds
// an item, as in spec.steps[+]. The file must load. Edit returns an error if a scenario is a
// variant, or if a path does not exist.
func Edit(data []byte, scenario string, edits []Field) ([]byte, error) {
	var left documents
	found := false
	for _, doc := range parse(data) {
		if doc.Field("kind").Value != "Scenario" {
			left = append(left, doc)
			continue
		}
		if doc.Find("metadata.name").Value != scenario {
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

func valueNode(text string) (*strict.Node, error) {
	errs := &strict.Collector{}
	docs, _ := strict.Parse(fileName, []byte(text), errs)
	if err := errs.Err(); err != nil || len(docs) != 1 {
		return nil, cmp.Or(err, errors.New("there is no value"))
	}
	return docs[0], nil
}

// set sets the field at a path below n. It adds mappings, and the list of an added item.
func set(n *strict.Node, path []string, value *strict.Node) error {
	name, index, listed := strings.Cut(path[0], "[")
	if n.Kind != strict.Mapping {
		return fmt.Errorf("%s is no field of a mapping", name)
	}
	child := n.Field(name)
	if child.Kind == strict.Missing {
		kind := strict.Mapping
		if listed {
			kind = strict.Sequence
		}
		child = n.Put(name, name, kind, "")
	}
	if listed {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if index == "+]" {
			child.Put("", "", strict.Mapping, "")
			i, err = len(child.Items)-1, nil
		}
		if err != nil || i < 0 || i >= len(child.Items) {
			return fmt.Errorf("%s has no item %s", name, strings.TrimSuffix(index, "]"))
		}
		child = child.Items[i]
	}
	if len(path) > 1 {
		return set(child, path[1:], value)
	}
	*child = *value
	return nil
}
