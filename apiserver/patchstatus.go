package apiserver

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// AfterStatusPatch returns the pod as somebody's patch of the conditions in its status leaves it, which changes nothing
// else. That it patches nothing else is for the caller to see to.
func AfterStatusPatch(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	merged, err := Merge(pod, patch)
	if err != nil {
		return nil, err
	}
	after := *pod
	after.Status.Conditions = nil
	for _, c := range merged.Status.Conditions {
		if old := findCondition(pod.Status.Conditions, c.Type); old != nil && apiequality.Semantic.DeepEqual(*old, c) {
			c = *old // whose times have not been through JSON
		}
		after.Status.Conditions = append(after.Status.Conditions, c)
	}
	return &after, nil
}

// mergeConditions returns the conditions that a client's patch leaves there are now, who wants these in place of those
// that it has read: what others have written meanwhile stays.
func mergeConditions(now, read, want []v1.PodCondition) []v1.PodCondition {
	var merged []v1.PodCondition
	for _, c := range now {
		switch before, wanted := findCondition(read, c.Type), findCondition(want, c.Type); {
		case wanted != nil && (before == nil || !reflect.DeepEqual(before, wanted)):
			merged = append(merged, *wanted)
		case wanted != nil || before == nil:
			merged = append(merged, c)
		}
	}
	for _, c := range want {
		before := findCondition(read, c.Type)
		if findCondition(now, c.Type) == nil && (before == nil || !reflect.DeepEqual(*before, c)) {
			merged = append(merged, c)
		}
	}
	return merged
}

func findCondition(list []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range list {
		if list[i].Type == t {
			return &list[i]
		}
	}
	return nil
}

// PatchPodStatus patches the status of a pod, as a controller does. It does nothing if there is no such pod, or if the
// patch is none.
func (s *Server) PatchPodStatus(namespace, name string, patch []byte, cause int64) {
	if old := s.Pod(namespace, name); old != nil {
		if after, err := AfterStatusPatch(old, patch); err == nil {
			s.store(Modified, after, cause)
		}
	}
}
