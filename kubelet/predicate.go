package kubelet

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/kubeletconfig"
)

// rejection says why the node does not admit a pod or a resize. Without a reason it is admitted.
type rejection struct{ reason, message string }

// The rejection of a pod that arrives while the node shuts down
// (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
var shutdownRejection = rejection{"NodeShutdown", "Pod was rejected as the node is shutting down."}

// canAdmitPod asks whether the node admits a pod with the resources of its spec: the pod has to fit
// beside the others, and the node must not shut down (canAdmitPod in
// pkg/kubelet/allocation/allocation_manager.go, and the order of the handlers in
// pkg/kubelet/kubelet.go, at v1.37.0).
func (a *allocations) canAdmitPod(pod *v1.Pod) rejection {
	if r := a.fit(pod); r.reason != "" {
		return r
	}
	if a.k.shuttingDown {
		return shutdownRejection
	}
	return rejection{}
}

// canResizePod asks whether the node admits a resize. In older releases, a resize that exceeds the
// node is infeasible, and every other rejection has the reason Deferred (canResizePod in
// pkg/kubelet/allocation/allocation_manager.go at v1.35.4).
func (a *allocations) canResizePod(pod *v1.Pod) rejection {
	if a.k.profile.ResizeReasonOfAdmission {
		return a.canAdmitPod(pod)
	}
	size, cpu, memory := a.k.settings.Allocatable, milliCPU(podutil.SumOf(pod, requestsOf)),
		memoryOf(podutil.SumOf(pod, requestsOf))
	const message = "Node didn't have enough capacity: %s, requested: %d, capacity: %d"
	switch {
	case size.Memory > 0 && memory > size.Memory:
		return rejection{v1.PodReasonInfeasible, fmt.Sprintf(message, v1.ResourceMemory, memory, size.Memory)}
	case size.MilliCPU > 0 && cpu > size.MilliCPU:
		return rejection{v1.PodReasonInfeasible, fmt.Sprintf(message, v1.ResourceCPU, cpu, size.MilliCPU)}
	}
	r := a.canAdmitPod(pod)
	if r.reason != "" {
		r.reason = v1.PodReasonDeferred
	}
	return r
}

// fit asks whether the requests of a pod fit beside those of the other active pods. A pod that has
// no allocation does not count, because the node can still reject it (Admit in
// pkg/kubelet/lifecycle/predicate.go, getAllocatedPods in
// pkg/kubelet/allocation/allocation_manager.go, and fitsRequest in
// pkg/scheduler/framework/plugins/noderesources/fit.go, at v1.37.0).
func (a *allocations) fit(pod *v1.Pod) rejection {
	size := a.k.settings.Allocatable
	if size == (kubeletconfig.Allocatable{}) {
		return rejection{}
	}
	var used kubeletconfig.Allocatable
	for _, other := range a.k.activePods() {
		if _, allocated := a.k.disk.allocated[other.UID]; allocated && other.UID != pod.UID {
			requests := a.requestsInUse(other)
			used.MilliCPU += milliCPU(requests)
			used.Memory += memoryOf(requests)
		}
	}
	requests := podutil.SumOf(pod, requestsOf)
	if r := insufficient("OutOfcpu", v1.ResourceCPU, milliCPU(requests), used.MilliCPU, size.MilliCPU); r.reason != "" {
		return r
	}
	return insufficient("OutOfmemory", v1.ResourceMemory, memoryOf(requests), used.Memory, size.Memory)
}

// insufficient rejects a request that the node does not have. A capacity of 0 is enough for every
// pod.
func insufficient(reason string, resource v1.ResourceName, requested, used, capacity int64) rejection {
	if capacity == 0 || requested == 0 || requested <= capacity-used {
		return rejection{}
	}
	return rejection{reason, fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
		resource, requested, used, capacity)}
}

func milliCPU(list v1.ResourceList) int64 { return list.Cpu().MilliValue() }
func memoryOf(list v1.ResourceList) int64 { return list.Memory().Value() }
