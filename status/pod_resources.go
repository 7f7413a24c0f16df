package status

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// The fields of a status with the resources of the whole pod. The k8s.io/api of older releases
// lacks them.
var (
	podResources, hasPodResources = reflect.TypeFor[v1.PodStatus]().FieldByName("Resources")
	podAllocated, hasPodAllocated = reflect.TypeFor[v1.PodStatus]().FieldByName("AllocatedResources")
)

// SetPodResources sets the resources of the whole pod in a status, and those that the kubelet has
// allocated.
func SetPodResources(s *v1.PodStatus, r *v1.ResourceRequirements, allocated v1.ResourceList) {
	if hasPodResources && hasPodAllocated {
		reflect.ValueOf(s).Elem().FieldByIndex(podResources.Index).Set(reflect.ValueOf(r))
		reflect.ValueOf(s).Elem().FieldByIndex(podAllocated.Index).Set(reflect.ValueOf(allocated))
	}
}

// PodResources returns the resources of the whole pod in a status. They are empty if the status has
// none.
func PodResources(s *v1.PodStatus) v1.ResourceRequirements {
	if hasPodResources {
		if r := reflect.ValueOf(s).Elem().FieldByIndex(podResources.Index).Interface().(*v1.ResourceRequirements); r !=
			nil {
			return *r
		}
	}
	return v1.ResourceRequirements{}
}

// AllocatedPodResources returns the requests of the whole pod in a status that the kubelet has
// allocated.
func AllocatedPodResources(s *v1.PodStatus) v1.ResourceList {
	if !hasPodAllocated {
		return nil
	}
	return reflect.ValueOf(s).Elem().FieldByIndex(podAllocated.Index).Interface().(v1.ResourceList)
}

// samePodResources reports whether two statuses have the same resources of the whole pod.
func samePodResources(a, b *v1.PodStatus) bool {
	x, y := PodResources(a), PodResources(b)
	return sameResources(&x, &y) && sameQuantities(AllocatedPodResources(a), AllocatedPodResources(b))
}
