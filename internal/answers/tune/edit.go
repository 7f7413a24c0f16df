package tune

import (
	"encoding/json"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
)

// Edit returns a file of manifests with the fields of the report changed in place. It keeps
// comments and everything else as it is. The comments are those beside a changed number, which may
// no longer be right.
func (r *Report) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	m, err := manifests.Read(f.Name, f.Data)
	if err != nil {
		return nil, nil, err
	}
	e := inplace.New(f.Data)
	for i := range m.Workloads {
		if of := r.of(f.Name, &m.Workloads[i]); of != nil {
			fields, err := of.fields()
			if err != nil {
				return nil, nil, err
			}
			e.Merge(m.Workloads[i].PodNode(), map[string]any{"spec": fields})
		}
	}
	if edited, comments, err = e.Apply(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", printable.Text(f.Name), err)
	}
	if err := r.verify(f.Name, m, edited); err != nil {
		return nil, nil, err
	}
	return edited, comments, nil
}

// verify reports whether a changed file has exactly the changes of the report.
func (r *Report) verify(name string, before *manifests.File, edited []byte) error {
	after, err := manifests.Read(name, edited)
	if err != nil || len(after.Workloads) != len(before.Workloads) {
		return fmt.Errorf("%s %w", printable.Text(name), inplace.ErrPlace)
	}
	for i := range before.Workloads {
		want := &before.Workloads[i]
		r.Modify(name, want)
		if !reflect.DeepEqual(want.Pod.Spec, after.Workloads[i].Pod.Spec) {
			return fmt.Errorf("%s %w", printable.Text(name), inplace.ErrPlace)
		}
	}
	return nil
}

// written returns a probe as a person writes it: without defaults.
func written(p *v1.Probe) (map[string]any, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(text, &m); err != nil { // unlike package json, it reads integers as such
		return nil, err
	}
	for _, name := range []string{"timeoutSeconds", "successThreshold"} {
		if m[name] == 1 {
			delete(m, name)
		}
	}
	if get, ok := m["httpGet"].(map[string]any); ok && get["scheme"] == "HTTP" {
		delete(get, "scheme")
	}
	return m, nil
}
