package workloads

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
)

// Setting is a number of a probe in a file of manifests.
type Setting struct {
	Line      int    `json:"line"` // of the workload
	Container string `json:"container"`
	Probe     string `json:"probe"` // such as livenessProbe
	Field     string `json:"field"` // such as periodSeconds
	Value     int32  `json:"value"` // the default, if the file does not say it

	list     string // containers or initContainers
	template string // the path of the pod template
}

// Settings returns the numbers of the probes in a file that decide how long a program has.
func Settings(f input.File) (list []Setting, err error) {
	_, err = Each([]input.File{f}, func(_ input.File, w *manifests.Workload) scenarios.Errors {
		add := func(field string, containers []v1.Container) {
			for i := range containers {
				for _, s := range settingsOf(&containers[i]) {
					s.Line, s.list, s.template = w.Line, field, w.Template
					list = append(list, s)
				}
			}
		}
		add("containers", w.Pod.Spec.Containers)
		add("initContainers", w.Pod.Spec.InitContainers)
		return nil
	})
	return list, err
}

func settingsOf(c *v1.Container) (list []Setting) {
	for _, probe := range []struct {
		name string
		*v1.Probe
	}{{"startupProbe", c.StartupProbe}, {"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}} {
		if p := probe.Probe; p != nil {
			for _, field := range []struct {
				name  string
				value int32
			}{{"periodSeconds", p.PeriodSeconds}, {"failureThreshold", p.FailureThreshold},
				{"timeoutSeconds", p.TimeoutSeconds}} {
				list = append(list,
					Setting{Container: c.Name, Probe: probe.name, Field: field.name, Value: field.value})
			}
		}
	}
	return list
}

// Set returns a file with another value of a setting, in place. The file stays as it is if it does
// not have the setting.
func Set(f input.File, s Setting) ([]byte, error) {
	list, err := Settings(f)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(had Setting) bool {
		return had.Line == s.Line && had.Container == s.Container && had.Probe == s.Probe && had.Field == s.Field
	})
	if i < 0 || list[i].Value == s.Value {
		return f.Data, nil
	}
	patch := Patch(list[i].template, map[string]any{list[i].list: []any{
		map[string]any{"name": s.Container, s.Probe: map[string]any{s.Field: int(s.Value)}},
	}})
	edited, _, err := Edit(f, func(m *manifests.Object) map[string]any {
		if m.Node.Pos.Line == s.Line {
			return patch
		}
		return nil
	})
	return edited, err
}
