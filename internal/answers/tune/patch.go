package tune

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/scenarios/simulate"
)

// Patches returns a strategic merge patch for each workload that changes, as 'kubectl patch' takes
// it.
func (r *Report) Patches() (all [][]byte, err error) {
	for i := range r.Workloads {
		text, err := r.Workloads[i].patch()
		if err != nil {
			return nil, err
		}
		if text != nil {
			all = append(all, text)
		}
	}
	return all, nil
}

// patch returns the patch of a workload, or nil if it does not change.
func (w *Workload) patch() ([]byte, error) {
	spec, err := w.fields()
	if err != nil || len(spec) == 0 {
		return nil, err
	}
	var value any = map[string]any{"spec": spec}
	for _, name := range slices.Backward(strings.FieldsFunc(w.template, func(r rune) bool { return r == '.' })) {
		value = map[string]any{name: value}
	}
	return PatchFile(w.command(), value)
}

// fields returns the fields of the pod spec that change, as in a patch.
func (w *Workload) fields() (map[string]any, error) {
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
			probe := kindNames[change.place.kind] + "Probe"
			if item[probe] == nil {
				item[probe] = map[string]any{}
			}
			item[probe].(map[string]any)[fieldNames[change.place.field]] = int(change.After)
		}
		for k, added := range c.added {
			if added == nil {
				continue
			}
			text, err := written(added)
			if err != nil {
				return nil, err
			}
			item[kindNames[k]+"Probe"] = text
		}
		lists[field] = append(lists[field], item)
		spec[field] = lists[field]
	}
	return spec, nil
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
