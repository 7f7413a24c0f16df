package podutil

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// QOSClass returns the quality of service of a pod, which the requests and limits of its containers
// determine (ComputePodQOS in pkg/apis/core/helper/qos/qos.go at v1.37.0).
func QOSClass(spec *v1.PodSpec) v1.PodQOSClass {
	class := v1.PodQOSClass("") // not known yet
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				of := resourceQOS(&containers[i].Resources, name)
				if class != "" && class != of {
					return v1.PodQOSBurstable
				}
				class = of
			}
		}
	}
	return cmp.Or(class, v1.PodQOSBestEffort)
}

// resourceQOS returns the class of one resource of a container.
func resourceQOS(r *v1.ResourceRequirements, name v1.ResourceName) v1.PodQOSClass {
	request, limit := r.Requests[name], r.Limits[name]
	switch {
	case !request.Equal(limit):
		return v1.PodQOSBurstable
	case request.IsZero():
		return v1.PodQOSBestEffort
	}
	return v1.PodQOSGuaranteed
}
