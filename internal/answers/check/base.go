package check

import (
	"slices"

	"probesim.dev/internal/require"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// find returns a workload of the report by its kind, namespace and name, or nil. Its file can have
// another name.
func (r *Report) find(w *workload) *Workload { return r.workload(w.Kind, w.Pod.Namespace, w.Name) }

func (r *Report) workload(kind, namespace, name string) *Workload {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Workloads,
		func(old Workload) bool { return old.Kind == kind && old.Namespace == namespace && old.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Workloads[i]
}

// container returns a container of the workload, or nil.
func (w *Workload) container(name string) *Container {
	if w == nil {
		return nil
	}
	i := slices.IndexFunc(w.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &w.Containers[i]
}

// known returns how long the start or the stop of a container takes, as an annotation with some key
// says, or nil.
func (c *Container) known(key string) *value.Interval {
	if c == nil {
		return nil
	}
	if key == workloads.StopAnnotation {
		return c.Stop
	}
	return c.Start
}

// required returns the requirements of the workload on containers that it still has.
func (w *Workload) required(containers []string) (all []Required) {
	if w == nil {
		return nil
	}
	for _, v := range w.Requirements {
		read, _ := require.Parse(v.Requirement) // of a newer version, it can have an error
		list := RequirementsOf(read)
		left := slices.DeleteFunc(slices.Clone(v.Containers),
			func(name string) bool { return !slices.Contains(containers, name) })
		if len(list) > 0 && len(left) > 0 {
			all = append(all, Required{Requirement: list[0], Containers: left})
		}
	}
	return all
}
