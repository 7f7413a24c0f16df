package status

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Equal reports what reflect.DeepEqual reports about two statuses, in a tenth of its time.
func Equal(a, b *v1.PodStatus) bool {
	return sameSlices(a.Conditions, b.Conditions, sameCondition) && equalApartFromConditions(a, b)
}

// equalApartFromConditions compares everything except for the conditions. It hands fields that the
// simulator does not set to reflect.DeepEqual.
func equalApartFromConditions(a, b *v1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration &&
		a.NominatedNodeName == b.NominatedNodeName && a.HostIP == b.HostIP && a.PodIP == b.PodIP &&
		a.QOSClass == b.QOSClass && a.Resize == b.Resize &&
		sameSlices(a.HostIPs, b.HostIPs, same) && sameSlices(a.PodIPs, b.PodIPs, same) &&
		samePointers(a.StartTime, b.StartTime, sameTime) &&
		sameSlices(a.ContainerStatuses, b.ContainerStatuses, sameContainer) &&
		sameSlices(a.InitContainerStatuses, b.InitContainerStatuses, sameContainer) &&
		sameSlices(a.EphemeralContainerStatuses, b.EphemeralContainerStatuses, sameContainer) &&
		samePodResources(a, b) && (!hasRareFields(a) && !hasRareFields(b) || sameRareFields(*a, *b))
}

// rareFields are the indexes of the fields of a status that sameRareFields compares. Their names
// are not in the code, because the modules of older releases use a k8s.io/api that lacks some of
// them.
var rareFields = func() []int {
	usual := map[string]bool{
		"Phase": true, "Reason": true, "Message": true, "ObservedGeneration": true, "NominatedNodeName": true,
		"HostIP": true, "PodIP": true,
		"QOSClass": true, "Resize": true, "HostIPs": true, "PodIPs": true, "StartTime": true, "Conditions": true,
		"ContainerStatuses":     true,
		"InitContainerStatuses": true, "EphemeralContainerStatuses": true, "Resources": true,
		"AllocatedResources": true,
	}
	var rare []int
	for i, f := range reflect.VisibleFields(reflect.TypeFor[v1.PodStatus]()) {
		if !usual[f.Name] {
			rare = append(rare, i)
		}
	}
	return rare
}()

// hasRareFields reports whether a status has a field that sameRareFields compares.
func hasRareFields(s *v1.PodStatus) bool {
	v := reflect.ValueOf(s).Elem()
	for _, i := range rareFields {
		if !v.Field(i).IsZero() {
			return true
		}
	}
	return false
}

func sameRareFields(a, b v1.PodStatus) bool {
	for _, s := range []*v1.PodStatus{&a, &b} {
		s.Conditions, s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses = nil, nil, nil, nil
		SetPodResources(s, nil, nil)
	}
	return reflect.DeepEqual(a, b)
}

func sameContainer(a, b *v1.ContainerStatus) bool {
	return a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount && a.Image == b.Image &&
		a.ImageID == b.ImageID &&
		a.ContainerID == b.ContainerID && samePointers(a.Started, b.Started, same) &&
		samePointers(a.Resources, b.Resources, sameResources) &&
		sameQuantities(a.AllocatedResources, b.AllocatedResources) && sameState(&a.State, &b.State) &&
		sameState(&a.LastTerminationState, &b.LastTerminationState) &&
		sameVolumeMounts(a.VolumeMounts, b.VolumeMounts) &&
		(!hasRareContainerFields(a) && !hasRareContainerFields(b) || sameRareContainerFields(*a, *b))
}

func sameRareContainerFields(a, b v1.ContainerStatus) bool {
	for _, c := range []*v1.ContainerStatus{&a, &b} {
		c.Resources, c.AllocatedResources = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// sameResources compares quantities by their values: a quantity can have several forms.
func sameResources(a, b *v1.ResourceRequirements) bool {
	return sameQuantities(a.Requests, b.Requests) && sameQuantities(a.Limits, b.Limits) &&
		reflect.DeepEqual(a.Claims, b.Claims)
}

func sameQuantities(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func hasRareContainerFields(c *v1.ContainerStatus) bool {
	return c.User != nil || c.AllocatedResourcesStatus != nil ||
		c.StopSignal != nil
}

func sameVolumeMounts(a, b []v1.VolumeMountStatus) bool {
	return a == nil && b == nil || reflect.DeepEqual(a, b)
}

func sameState(a, b *v1.ContainerState) bool {
	return samePointers(a.Waiting, b.Waiting, same) &&
		samePointers(a.Running, b.Running,
			func(a, b *v1.ContainerStateRunning) bool { return sameTime(&a.StartedAt, &b.StartedAt) }) &&
		samePointers(a.Terminated, b.Terminated, sameTerminated)
}

func sameTerminated(a, b *v1.ContainerStateTerminated) bool {
	return a.ExitCode == b.ExitCode && a.Signal == b.Signal && a.Reason == b.Reason && a.Message == b.Message &&
		a.ContainerID == b.ContainerID &&
		sameTime(&a.StartedAt, &b.StartedAt) && sameTime(&a.FinishedAt, &b.FinishedAt)
}

func sameCondition(a, b *v1.PodCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration &&
		sameTime(&a.LastProbeTime, &b.LastProbeTime) && sameTime(&a.LastTransitionTime, &b.LastTransitionTime)
}

// sameTime compares times as reflect.DeepEqual does, which also compares the locations.
func sameTime(a, b *metav1.Time) bool { return *a == *b || reflect.DeepEqual(a, b) }

func same[T comparable](a, b *T) bool { return *a == *b }

func samePointers[T any](a, b *T, same func(a, b *T) bool) bool {
	return a == b || a != nil && b != nil && same(a, b)
}

// sameSlices compares slices. A nil slice differs from an empty one.
func sameSlices[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}
