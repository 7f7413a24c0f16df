package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/workloads"
)

// changes lists the fields in which a Deployment differs.
func (x *tuner) changes(to *workload) []FieldChange {
	list := []FieldChange{}
	add := func(field, before, after string) {
		if before != after {
			list = append(list, FieldChange{field, x.w.node.Find(field).Pos.Line, before, after})
		}
	}
	was, is := &x.w.spec.Spec, &to.spec.Spec
	for i := range was.Template.Spec.Containers {
		before, after := &was.Template.Spec.Containers[i], &is.Template.Spec.Containers[i]
		add(x.w.path(before.Name, "lifecycle.preStop"), hookText(before), hookText(after))
		add(x.w.path(before.Name, "readinessProbe"), probeText(before.ReadinessProbe), probeText(after.ReadinessProbe))
	}
	add("spec.template.spec.terminationGracePeriodSeconds",
		fmt.Sprint(*was.Template.Spec.TerminationGracePeriodSeconds),
		fmt.Sprint(*is.Template.Spec.TerminationGracePeriodSeconds))
	add("spec.minReadySeconds", fmt.Sprint(was.MinReadySeconds), fmt.Sprint(is.MinReadySeconds))
	add("spec.strategy.type", string(was.Strategy.Type), string(is.Strategy.Type))
	surge, unavailable := x.w.fenceposts()
	more, fewer := to.fenceposts()
	add("spec.strategy.rollingUpdate.maxSurge", fmt.Sprint(surge), fmt.Sprint(more))
	add("spec.strategy.rollingUpdate.maxUnavailable", fmt.Sprint(unavailable), fmt.Sprint(fewer))
	return list
}

func hookText(c *v1.Container) string {
	switch {
	case c.Lifecycle == nil || c.Lifecycle.PreStop == nil:
		return "none"
	case c.Lifecycle.PreStop.Exec != nil:
		return fmt.Sprintf("{exec: {command: [%s]}}", strings.Join(c.Lifecycle.PreStop.Exec.Command, ", "))
	case c.Lifecycle.PreStop.Sleep != nil:
		return fmt.Sprintf("{sleep: {seconds: %d}}", c.Lifecycle.PreStop.Sleep.Seconds)
	}
	return "another hook"
}

func probeText(p *v1.Probe) string {
	if p == nil {
		return "none"
	}
	return workloads.Describe(p)
}

// withoutDirectives leaves out of a patch what it does not need: the order of lists, and the keys
// of the strategy, which only get more.
func withoutDirectives(patch []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(patch, &value); err != nil {
		return nil, err
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if clean(v[key]); strings.HasPrefix(key, "$setElementOrder/") || key == "$retainKeys" {
					delete(v, key)
				}
			}
		case []any:
			for _, x := range v {
				clean(x)
			}
		}
	}
	clean(value)
	return json.Marshal(value)
}
