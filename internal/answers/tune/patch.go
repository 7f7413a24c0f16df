package tune

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/workloads"
)

// Patches returns a strategic merge patch for each workload that changes, as 'kubectl patch' takes
// it.
func (r *Report) Patches() (all [][]byte, err error) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if patch := w.patch(); patch != nil {
			text, err := PatchFile(w.command(), patch)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	return all, nil
}

// Edit returns a file of manifests with the patches made in place, as workloads.Edit does.
func (r *Report) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	return workloads.Edit(f, func(m *manifests.Object) map[string]any {
		if of := r.of(f.Name, m.Node.Pos.Line, m.Name); of != nil {
			return of.patch()
		}
		return nil
	})
}

// patch returns the patch of a workload, or nil if it does not change.
func (w *Workload) patch() map[string]any {
	spec := w.fields()
	if len(spec) == 0 {
		return nil
	}
	patch := map[string]any{"spec": spec}
	for _, name := range slices.Backward(strings.FieldsFunc(w.template, func(r rune) bool { return r == '.' })) {
		patch = map[string]any{name: patch}
	}
	return patch
}

// fields returns the fields of the pod spec that change, as in a patch.
func (w *Workload) fields() map[string]any {
	lists, spec := map[string][]any{}, map[string]any{}
	if w.Grace != nil {
		spec[graceField] = int(w.Grace.After)
	}
	for i := range w.Containers {
		c := &w.Containers[i]
		if len(c.Changes) == 0 {
			continue
		}
		field := "containers"
		if c.Init {
			field = "initContainers"
		}
		item := map[string]any{"name": c.Name}
		for _, change := range c.Changes {
			probe := change.place.kind.String()
			if item[probe] == nil {
				item[probe] = map[string]any{}
			}
			item[probe].(map[string]any)[fieldNames[change.place.field]] = int(change.After)
		}
		for k, added := range c.added {
			if added != nil {
				item[kind(k).String()] = written(added)
			}
		}
		lists[field] = append(lists[field], item)
		spec[field] = lists[field]
	}
	return spec
}

// written returns a probe as a person writes it: without defaults.
func written(p *v1.Probe) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil { // a probe has the form of an object
		panic(err)
	}
	for _, name := range []string{"timeoutSeconds", "successThreshold"} {
		if fields[name] == int64(1) {
			delete(fields, name)
		}
	}
	if get, ok := fields["httpGet"].(map[string]any); ok && get["scheme"] == "HTTP" {
		delete(get, "scheme")
	}
	return fields
}

// PatchFile returns a patch as YAML, below a comment with the command that applies it.
func PatchFile(command string, patch any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(command, "\n", " "))
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(patch)
	return b.Bytes(), err
}

// command is the command that applies the patch.
func (w *Workload) command() string {
	if w.template == "" {
		return "Kubernetes does not change the probes of a Pod: change its manifest, and create it again"
	}
	return PatchCommand(w.Kind, w.Namespace, w.Name)
}

// PatchCommand is the command that applies a patch to an object.
func PatchCommand(kind, namespace, name string) string {
	words := []string{"kubectl patch", simulate.Quote(strings.ToLower(kind)), simulate.Quote(name)}
	if namespace != "" && namespace != "default" {
		words = append(words, "-n", simulate.Quote(namespace))
	}
	return strings.Join(append(words, "--patch-file PATCH"), " ")
}
