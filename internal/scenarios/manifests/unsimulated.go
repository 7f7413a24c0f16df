package manifests

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"probesim.dev/internal/strict"
)

// unsimulated are fields of workloads that can decide what happens to their pods, and that nothing
// simulates: the controllers have them.
var unsimulated = []string{
	"spec.progressDeadlineSeconds", "spec.minReadySeconds", "spec.paused", "spec.backoffLimit",
	"spec.backoffLimitPerIndex", "spec.podFailurePolicy", "spec.activeDeadlineSeconds",
	"spec.jobTemplate.spec.backoffLimit", "spec.jobTemplate.spec.backoffLimitPerIndex",
	"spec.jobTemplate.spec.podFailurePolicy", "spec.jobTemplate.spec.activeDeadlineSeconds",
}

// NotSimulated names what a workload has that can decide what happens to its pods and is not
// simulated: fields of its controller, its order of pods, ports of the node, and requests that few
// nodes have room for.
func NotSimulated(w *Object, pod *v1.Pod) (list []string) {
	for _, field := range unsimulated {
		if n := w.Node.Find(field); n.Written() && w.Kind.Template != "" {
			list = append(list, n.Name())
		}
	}
	if w.Kind.Kind == "StatefulSet" && w.Replicas > 1 && w.Node.Find("spec.podManagementPolicy").Value != "Parallel" {
		list = append(list, "OrderedReady")
	}
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	if !pod.Spec.HostNetwork && slices.ContainsFunc(all, func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
	}) {
		list = append(list, "host ports")
	}
	for _, c := range all {
		for _, of := range []struct {
			name v1.ResourceName
			most resource.Quantity
		}{{v1.ResourceCPU, resource.MustParse("32")}, {v1.ResourceMemory, resource.MustParse("256Gi")}} {
			if q := c.Resources.Requests[of.name]; q.Cmp(of.most) > 0 {
				list = append(list, fmt.Sprintf("a %s request of %s", of.name, q.String()))
			}
		}
	}
	return list
}

// disruptionBudgets adds the budgets of a file to the workloads whose pods they select.
func (m *File) disruptionBudgets(others []*strict.Node) {
	const kind = "PodDisruptionBudget"
	for _, n := range others {
		labels := n.Find("spec.selector.matchLabels")
		if n.Field("kind").Value != kind || len(labels.Keys) == 0 {
			continue
		}
		for i := range m.Workloads {
			w, selects := &m.Workloads[i], true
			for k, key := range labels.Keys {
				selects = selects && w.Pod.Labels[key.Name] == labels.Items[k].Value
			}
			if selects && !slices.Contains(w.NotSimulated, kind) {
				w.NotSimulated = append(w.NotSimulated, kind)
			}
		}
	}
}
