package podutil

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// qosResources are the resources that determine the quality of service.
var qosResources = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

// QOSClass returns the quality of service of a pod, which its requests and limits of cpu and memory determine (ComputePodQOS in
// pkg/apis/core/helper/qos/qos.go at v1.37.0).
func QOSClass(spec *v1.PodSpec) v1.PodQOSClass {
	requests, limits, guaranteed := v1.ResourceList{}, v1.ResourceList{}, true
	for _, containers := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			for _, name := range qosResources {
				add(requests, name, r.Requests[name])
				limit := r.Limits[name]
				add(limits, name, limit)
				guaranteed = guaranteed && !limit.IsZero()
			}
		}
	}
	if len(requests)+len(limits) == 0 {
		return v1.PodQOSBestEffort
	}
	for name, request := range requests {
		limit := limits[name]
		guaranteed = guaranteed && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

func add(to v1.ResourceList, name v1.ResourceName, q resource.Quantity) {
	if q.Sign() > 0 {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}
