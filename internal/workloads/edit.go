package workloads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
)

// Edit returns a file of manifests with strategic merge patches of its objects made in place. It
// keeps comments and everything else as it is. The comments are those beside a changed value, which
// may no longer be right. The patch of an object that does not change is nil.
func Edit(f input.File, patchOf func(*manifests.Object) map[string]any) (edited []byte, comments []inplace.Comment,
	err error) {
	e, before := inplace.New(f.Data), objectsOf(f)
	var want []any
	for _, m := range before {
		patch := patchOf(m)
		e.Merge(m.Node, patch)
		want = append(want, merged(fieldsOf(m), patch))
	}
	edited, comments, err = e.Apply()
	if err == nil && !isWanted(objectsOf(input.File{Name: f.Name, Data: edited}), want) {
		err = inplace.ErrPlace
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", printable.Text(f.Name), err)
	}
	return edited, comments, nil
}

func objectsOf(f input.File) []*manifests.Object {
	return manifests.Parse(f.Name, f.Data, &strict.Collector{}).Manifests
}

// Patch returns the strategic merge patch of an object for fields of the pod spec. The template is
// the path of the pod template, empty for a pod.
func Patch(template string, spec map[string]any) map[string]any {
	patch := map[string]any{"spec": spec}
	for _, name := range slices.Backward(strings.FieldsFunc(template, func(r rune) bool { return r == '.' })) {
		patch = map[string]any{name: patch}
	}
	return patch
}

// fieldsOf returns an object as it is written.
func fieldsOf(m *manifests.Object) (fields any) {
	_ = json.Unmarshal(m.Node.JSON(), &fields) // it is valid
	return fields
}

// isWanted reports whether the objects of a changed file have exactly the fields that they should.
func isWanted(after []*manifests.Object, want []any) bool {
	return slices.EqualFunc(after, want, func(m *manifests.Object, want any) bool {
		a, aErr := json.Marshal(fieldsOf(m))
		b, bErr := json.Marshal(want)
		return aErr == nil && bErr == nil && bytes.Equal(a, b)
	})
}

// merged returns a value with a strategic merge patch: items of lists have names, and null removes
// a field.
func merged(old, patch any) any {
	switch patch := patch.(type) {
	case map[string]any:
		fields := map[string]any{}
		if had, is := old.(map[string]any); is {
			maps.Copy(fields, had)
		}
		for _, key := range slices.Sorted(maps.Keys(patch)) {
			if fields[key] = merged(fields[key], patch[key]); patch[key] == nil {
				delete(fields, key)
			}
		}
		return fields
	case []any:
		items, is := old.([]any)
		if !is {
			return patch
		}
		items = slices.Clone(items)
		for i, item := range items {
			for _, change := range patch {
				if named(item) == named(change) {
					items[i] = merged(item, change)
				}
			}
		}
		return items
	}
	return patch
}

// named returns the name of the item of a list.
func named(item any) any {
	fields, _ := item.(map[string]any)
	return fields["name"]
}
