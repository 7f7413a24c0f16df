package admission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/lists"
	"probesim.dev/kube/profile"
)

// Merge returns a copy of a pod or Deployment with a strategic merge patch applied. It checks
// neither the patch nor the result. Times are rounded to seconds, as in JSON.
func Merge[T any](object *T, patch []byte) (*T, error) {
	original, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, object)
	if err != nil {
		return nil, err
	}
	merged := new(T)
	return merged, json.Unmarshal(patched, merged)
}

// Diff returns the strategic merge patch from one object to another.
func Diff[T any](before, after *T) ([]byte, error) {
	was, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(was, is, before)
}

// mergeRequest is Merge with the error that the API server returns for an unreadable patch. Before
// is the pod as precise as the merged one.
func mergeRequest(pod *v1.Pod, patch []byte) (before, merged *v1.Pod, err error) {
	if merged, err = Merge(pod, patch); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("cannot apply the patch to pod %s/%s: %v", pod.Namespace,
			pod.Name, err))
	}
	before, err = Merge(pod, []byte("{}"))
	return before, merged, err
}

// Patch applies a user's strategic merge patch to the metadata and the spec in a copy of the pod,
// and returns the copy. A changed spec increments the generation; the status stays
// (pkg/registry/core/pod/strategy.go at v1.37.0). Patch returns an error if the patch is
// unreadable, or if it changes a field that [ValidateUpdate] does not allow to change.
func Patch(p profile.Profile, pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	before, after, err := mergeRequest(pod, patch)
	if err != nil {
		return nil, err
	}
	Default(after)
	DropDisabled(p, &after.Spec)
	if err := asError(pod, ValidateUpdate(p, after, before)); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(&before.Spec, &after.Spec) {
		after.Generation++
	}
	after.Status = pod.Status
	return after, nil
}

// PatchStatus applies a strategic merge patch to the status in a copy of the pod, and returns the
// copy. As in the API server, changes of metadata and spec have no effect. The patch can change
// only conditions; PatchStatus returns an error if the patch is unreadable or changes another field
// of the status.
func PatchStatus(pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	before, merged, err := mergeRequest(pod, patch)
	if err != nil {
		return nil, err
	}
	conditions := merged.Status.Conditions
	merged.Status.Conditions, before.Status.Conditions = nil, nil
	if !apiequality.Semantic.DeepEqual(merged.Status, before.Status) {
		return nil, asError(pod, field.ErrorList{field.Forbidden(field.NewPath("status"),
			"a patch of the status can change conditions only")})
	}
	after := *pod
	after.Status.Conditions = nil
	for _, c := range conditions {
		if old := findCondition(pod.Status.Conditions, c.Type); old != nil && apiequality.Semantic.DeepEqual(*old, c) {
			c = *old // the times in c have lost precision in JSON
		}
		after.Status.Conditions = append(after.Status.Conditions, c)
	}
	return &after, nil
}

// MergeConditions returns the conditions after a client's patch: now are the current conditions,
// read the conditions that the client has read, and want the conditions that it writes. Conditions
// that others have written since the client's read stay. The patch also sets the order.
func MergeConditions(now, read, want []v1.PodCondition) []v1.PodCondition {
	merged := make([]v1.PodCondition, 0, max(len(now), len(want)))
	for _, c := range now {
		switch before, wanted := findCondition(read, c.Type), findCondition(want, c.Type); {
		case wanted != nil && (before == nil || *before != *wanted):
			merged = append(merged, *wanted)
		case wanted != nil || before == nil:
			merged = append(merged, c)
		}
	}
	for _, c := range want {
		before := findCondition(read, c.Type)
		if findCondition(now, c.Type) == nil && (before == nil || *before != c) {
			merged = append(merged, c)
		}
	}
	sameType := func(a, b v1.PodCondition) bool { return a.Type == b.Type }
	if slices.EqualFunc(merged, want, sameType) {
		return merged
	}
	return inOrder(merged, want, now)
}

// inOrder sorts conditions: those in first come in its order. Each of the others comes before the
// first condition that it precedes in the order of second, otherwise at the end (mergeSortedSlice
// in pkg/util/strategicpatch/patch.go of k8s.io/apimachinery v0.37.0).
func inOrder(conditions, first, second []v1.PodCondition) []v1.PodCondition {
	var left, right []v1.PodCondition
	for _, c := range first {
		if found := findCondition(conditions, c.Type); found != nil {
			right = append(right, *found)
		}
	}
	for _, c := range conditions {
		if findCondition(first, c.Type) == nil {
			left = append(left, c)
		}
	}
	place := func(c v1.PodCondition) int {
		return slices.IndexFunc(second, func(other v1.PodCondition) bool { return other.Type == c.Type })
	}
	sorted := make([]v1.PodCondition, 0, len(conditions))
	for len(left) > 0 && len(right) > 0 {
		if l, r := place(left[0]), place(right[0]); l >= 0 && l < r {
			sorted, left = append(sorted, left[0]), left[1:]
		} else {
			sorted, right = append(sorted, right[0]), right[1:]
		}
	}
	return append(append(sorted, left...), right...)
}

func findCondition(list []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	return lists.Find(list, func(x *v1.PodCondition) bool { return x.Type == t })
}
