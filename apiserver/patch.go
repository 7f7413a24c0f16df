package apiserver

import (
	"encoding/json"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"probesim.dev/kube/profile"
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

// AfterPatch returns the pod as a user's patch of its metadata and spec leaves it with the API server of a version. What
// a patch may change is for the caller to see to; another spec is another generation
// (pkg/registry/core/pod/strategy.go at v1.37.0).
func AfterPatch(p profile.Profile, pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	before, err := Merge(pod, []byte("{}"))
	if err != nil {
		return nil, err
	}
	after, err := Merge(pod, patch)
	if err != nil {
		return nil, err
	}
	DropDisabled(p, &after.Spec)
	if !reflect.DeepEqual(&before.Spec, &after.Spec) {
		after.Generation++
	}
	after.Status = pod.Status
	return after, nil
}

// Patch patches the metadata and the spec of a pod, as a user does. A deleted pod that this takes the last finalizer from
// is gone. It does nothing if there is no such pod, or if the patch is none.
func (s *Server) Patch(namespace, name string, patch []byte, cause int64) {
	if old := s.Pod(namespace, name); old != nil {
		switch after, err := AfterPatch(s.o.Profile, old, patch); {
		case err != nil:
		case Gone(after):
			s.remove(old, cause)
		default:
			if after.Generation != old.Generation {
				s.steps[old.UID] = cause
			}
			s.store(Modified, after, cause)
		}
	}
}
