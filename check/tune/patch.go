package tune

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"probesim.dev/check"
	"probesim.dev/kube/podutil"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/simulate"
)

// Patch writes a strategic merge patch for each workload that changes, as 'kubectl patch' takes it.
func (r *Report) Patch(w io.Writer, files []check.File) error {
	first := true
	for i := range r.Workloads {
		of := &r.Workloads[i]
		if !slices.ContainsFunc(of.Containers, func(c Container) bool { return len(c.Changes) > 0 }) {
			continue
		}
		text, err := of.patch(files)
		if err != nil {
			return err
		}
		if !first {
			text = append([]byte("---\n"), text...)
		}
		first = false
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// patch returns the patch of a workload.
func (w *Workload) patch(files []check.File) ([]byte, error) {
	lists := map[string][]map[string]any{}
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
		if !c.old.has(startup) && c.now.has(startup) {
			added, err := w.added(c, files)
			if err != nil {
				return nil, err
			}
			item["startupProbe"] = added
		}
		lists[field] = append(lists[field], item)
	}
	var value any = map[string]any{"spec": lists}
	for _, name := range slices.Backward(strings.FieldsFunc(w.template, func(r rune) bool { return r == '.' })) {
		value = map[string]any{name: value}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(w.command(), "\n", " "))
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(value)
	return b.Bytes(), err
}

// command is the command that applies the patch.
func (w *Workload) command() string {
	if w.template == "" {
		return "Kubernetes does not change the probes of a Pod: change its manifest, and create it again"
	}
	words := []string{"kubectl patch", simulate.Quote(strings.ToLower(w.Kind)), simulate.Quote(w.Name)}
	if w.Namespace != "" && w.Namespace != "default" {
		words = append(words, "-n", simulate.Quote(w.Namespace))
	}
	return strings.Join(append(words, "--patch-file PATCH"), " ")
}

// added returns the startup probe of a container that had none.
func (w *Workload) added(c *Container, files []check.File) (map[string]any, error) {
	for _, f := range files {
		if f.Name != w.File {
			continue
		}
		m, err := manifests.Read(f.Name, f.Data)
		if err != nil {
			return nil, err
		}
		for i := range m.Workloads {
			if found := &m.Workloads[i]; found.Line == w.Line && found.Name == w.Name {
				c.now.apply(found.Pod, c.Name)
				return written(podutil.Find(found.Pod, c.Name).StartupProbe), nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s is not in its file", w.Kind, w.Name)
}
