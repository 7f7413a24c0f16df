package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/status"
)

// The smallest requests and limits that a cgroup shows, in thousandths of a core
// (pkg/kubelet/cm/helpers_linux.go at v1.37.0).
const (
	minShares        = 2
	minMilliCPULimit = 10
)

// setPodLevelResources writes the requests and limits of the whole pod to its status. A running pod
// shows those of its cgroup, which has a limit only if all containers have one; otherwise the
// earlier limit stays as long as the pod runs (generateAPIPodStatus and
// convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) setPodLevelResources(pod *v1.Pod, api, old *v1.PodStatus) {
	if !k.profile.InPlacePodLevelResourcesVerticalScaling || !anyHasResources(pod) {
		return
	}
	requests, limits := podutil.SumOf(pod, requestsOf), k.sumOfLimits(pod)
	allocated := requests.DeepCopy()
	if pod.Status.Phase == v1.PodRunning {
		if requests.Cpu().MilliValue() <= minShares {
			delete(requests, v1.ResourceCPU)
		}
		for name := range requests {
			if name != v1.ResourceCPU && name != v1.ResourceMemory {
				delete(requests, name)
			}
		}
		before := status.PodResources(old)
		if was, had := before.Requests[v1.ResourceMemory]; had && !k.profile.PodMemoryRequestFollows &&
			old.Phase == v1.PodRunning {
			requests[v1.ResourceMemory] = was
		}
		limits = runningLimits(pod, limits, old)
	}
	status.SetPodResources(api, &v1.ResourceRequirements{Requests: requests, Limits: limits}, allocated)
}

// sumOfLimits returns the limits of the whole pod, from 1.38 on without those of cpu and memory
// that not all containers have (AggregateContainerLimits in k8s.io/component-helpers/resource
// v0.38.0-beta.0).
func (k *Kubelet) sumOfLimits(pod *v1.Pod) v1.ResourceList {
	limits := podutil.SumOf(pod, limitsOf)
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if k.profile.PodLimitsOfAll && !allLimited(pod, name) {
			delete(limits, name)
		}
	}
	return limits
}

// runningLimits returns the limits of a running pod.
func runningLimits(pod *v1.Pod, sum v1.ResourceList, old *v1.PodStatus) v1.ResourceList {
	limits := v1.ResourceList{}
	before := status.PodResources(old)
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limit := sum[name]
		switch was, had := before.Limits[name]; {
		case allLimited(pod, name) && (name == v1.ResourceMemory || limit.MilliValue() > minMilliCPULimit):
			limits[name] = limit
		case !allLimited(pod, name) && had && old.Phase == v1.PodRunning:
			limits[name] = was
		}
	}
	return limits
}

// allLimited reports whether all containers of a pod have a limit.
func allLimited(pod *v1.Pod, name v1.ResourceName) bool {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if limit := list[i].Resources.Limits[name]; limit.IsZero() {
				return false
			}
		}
	}
	return true
}

func requestsOf(c *v1.Container) v1.ResourceList { return c.Resources.Requests }
func limitsOf(c *v1.Container) v1.ResourceList   { return c.Resources.Limits }
