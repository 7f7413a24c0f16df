package apiserver

import (
	"encoding/json"
	"reflect"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Merge returns the pod with a strategic merge patch applied to it.
func Merge(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	original, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, v1.Pod{})
	if err != nil {
		return nil, err
	}
	merged := &v1.Pod{}
	return merged, json.Unmarshal(patched, merged)
}

// AfterPatch returns the pod as a user's patch of its metadata and spec leaves it. What a patch may change is for
// the caller to see to; another spec is another generation (pkg/registry/core/pod/strategy.go at v1.37.0).
func AfterPatch(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	before, err := Merge(pod, []byte("{}"))
	if err != nil {
		return nil, err
	}
	after, err := Merge(pod, patch)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(&before.Spec, &after.Spec) {
		after.Generation++
	}
	after.Status = pod.Status
	return after, nil
}

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
func (s *Server) PatchPodStatus(namespace, name string, patch []byte) {
	if old := s.Pod(namespace, name); old != nil {
		if after, err := AfterStatusPatch(old, patch); err == nil {
			s.store(Modified, after)
		}
	}
}

// Patch patches the metadata and the spec of a pod, as a user does. A deleted pod that this takes the last finalizer from
// is gone. It does nothing if there is no such pod, or if the patch is none.
func (s *Server) Patch(namespace, name string, patch []byte) {
	if old := s.Pod(namespace, name); old != nil {
		switch after, err := AfterPatch(old, patch); {
		case err != nil:
		case Gone(after):
			s.remove(old)
		default:
			s.store(Modified, after)
		}
	}
}
