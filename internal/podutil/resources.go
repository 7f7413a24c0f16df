package podutil

import v1 "k8s.io/api/core/v1"

// SumOf returns what a pod needs of each resource: the sum of its regular containers and sidecars,
// or the most that an init container and the sidecars before it need together (PodRequests and
// PodLimits in k8s.io/component-helpers/resource v0.37.0).
func SumOf(pod *v1.Pod, of func(*v1.Container) v1.ResourceList) v1.ResourceList {
	sum, sidecars, most := v1.ResourceList{}, v1.ResourceList{}, v1.ResourceList{}
	for i := range pod.Spec.Containers {
		addTo(sum, of(&pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if IsRestartableInitContainer(c) {
			addTo(sum, of(c))
			addTo(sidecars, of(c))
			RaiseTo(most, sidecars)
			continue
		}
		together := sidecars.DeepCopy()
		addTo(together, of(c))
		RaiseTo(most, together)
	}
	RaiseTo(sum, most)
	return sum
}

func addTo(list, more v1.ResourceList) {
	for name, q := range more {
		total := list[name]
		total.Add(q)
		list[name] = total
	}
}

// RaiseTo raises each quantity of a list to that of another.
func RaiseTo(list, least v1.ResourceList) {
	for name, q := range least {
		if has, ok := list[name]; !ok || has.Cmp(q) < 0 {
			list[name] = q
		}
	}
}
