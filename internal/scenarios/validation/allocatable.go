package validation

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"probesim.dev/internal/strict"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/scenarios/format"
)

// The largest node: no sum of the requests of its pods overflows.
var (
	maxCPU    = resource.MustParse("10000")
	maxMemory = resource.MustParse("1Pi")
)

// checkAllocatable checks the size of the node.
func (c *checker) checkAllocatable(a *format.Allocatable, n *strict.Node) {
	if a == nil {
		return
	}
	n.ErrorIf(a.CPU == nil && a.Memory == nil && !n.Bad(), "needs cpu or memory")
	checkSize(a.CPU, resource.MustParse("1m"), maxCPU, n.Field("cpu"))
	checkSize(a.Memory, resource.MustParse("1"), maxMemory, n.Field("memory"))
}

func checkSize(q *resource.Quantity, least, most resource.Quantity, n *strict.Node) {
	n.ErrorIf(q != nil && (q.Cmp(least) < 0 || q.Cmp(most) > 0), "must be from %s to %s, not %s", &least, &most, q)
}

// checkRoom reports critical pods on a node with a size. For such a pod the kubelet evicts others
// (evictPodsToFreeRequests in pkg/kubelet/preemption/preemption.go at v1.37.0), which is not
// simulated. Static pods are critical too.
func (c *checker) checkRoom(w *workload, n *strict.Node) {
	if c.scenario.Spec.Kubelet.Allocatable == nil {
		return
	}
	const why = "critical pods are not supported yet with kubelet.allocatable: the kubelet evicts other pods for them"
	if w.Spec.Static {
		n.Field("static").Errorf("%s", why)
	} else if p := w.Pod.Spec.Priority; p != nil && *p >= kubeletconfig.SystemCriticalPriority {
		w.errs.At(w.Pod, "spec.priority").Errorf("%s", why)
	}
}
