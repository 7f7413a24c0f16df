package rollout

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
)

// Edit returns a file of manifests with the changes of its Deployments made in place. It keeps
// comments and everything else as it is. The comments are those beside a changed value, which may
// no longer be right.
func (t *Tuning) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	e := inplace.New(f.Data)
	before := objectsOf(f)
	for _, m := range before {
		patch := t.patchOf(f.Name, m)
		if patch == nil {
			continue
		}
		var fields map[string]any
		if err := utiljson.Unmarshal(patch, &fields); err != nil { // numbers stay whole
			return nil, nil, err
		}
		e.Merge(m.Node, fields)
	}
	if edited, comments, err = e.Apply(); err == nil {
		err = t.verify(f.Name, before, objectsOf(input.File{Name: f.Name, Data: edited}))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", printable.Text(f.Name), err)
	}
	return edited, comments, nil
}

func objectsOf(f input.File) []*manifests.Object {
	return manifests.Parse(f.Name, f.Data, &strict.Collector{}).Manifests
}

// patchOf returns the patch of an object of a file, or nil if it does not change.
func (t *Tuning) patchOf(file string, m *manifests.Object) []byte {
	i := slices.IndexFunc(t.Workloads,
		func(w Tuned) bool { return w.File == file && w.Line == m.Node.Pos.Line && w.Name == m.Name })
	if i < 0 {
		return nil
	}
	return t.Workloads[i].Patch
}

// verify returns an error unless a changed file has exactly the changes of the patches.
func (t *Tuning) verify(file string, before, after []*manifests.Object) error {
	if len(before) != len(after) {
		return inplace.ErrPlace
	}
	for i, m := range before {
		want := m.Node.JSON()
		if patch := t.patchOf(file, m); patch != nil {
			var err error
			if want, err = strategicpatch.StrategicMergePatch(want, patch, appsv1.Deployment{}); err != nil {
				return err
			}
		}
		var w, is any
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(after[i].Node.JSON(), &is) != nil ||
			!equality.Semantic.DeepEqual(w, is) {
			return fmt.Errorf("%s %w", printable.Text(m.Name), inplace.ErrPlace)
		}
	}
	return nil
}
