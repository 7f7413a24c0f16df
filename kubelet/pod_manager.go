package kubelet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podManager holds the desired pods that the sync loop knows (pkg/kubelet/pod/pod_manager.go at v1.37.0).
type podManager struct {
	pods    map[types.UID]*v1.Pod
	wanted  map[types.UID]int64 // steps of the records that caused the current specifications
	limited []types.UID         // pods with an activeDeadlineSeconds
}

func newPodManager() *podManager {
	return &podManager{pods: map[types.UID]*v1.Pod{}, wanted: map[types.UID]int64{}}
}

// GetPodByUID returns the pod with this UID.
func (m *podManager) GetPodByUID(uid types.UID) (*v1.Pod, bool) {
	pod, ok := m.pods[uid]
	return pod, ok
}

// nameOf returns the name of the pod with this UID, or an empty string.
func (m *podManager) nameOf(uid types.UID) string {
	if pod, ok := m.pods[uid]; ok {
		return podName(pod)
	}
	return ""
}

// set adds or replaces a pod.
func (m *podManager) set(pod *v1.Pod) {
	if pod.Spec.ActiveDeadlineSeconds != nil && !slices.Contains(m.limited, pod.UID) {
		m.limited = append(m.limited, pod.UID)
	}
	m.pods[pod.UID] = pod
}

// remove removes a pod.
func (m *podManager) remove(uid types.UID) {
	m.limited = slices.DeleteFunc(m.limited, func(other types.UID) bool { return other == uid })
	delete(m.pods, uid)
	delete(m.wanted, uid)
}

// list returns all pods, ordered by name.
func (m *podManager) list() []*v1.Pod {
	return slices.SortedFunc(maps.Values(m.pods), func(a, b *v1.Pod) int {
		return cmp.Or(strings.Compare(podName(a), podName(b)), strings.Compare(string(a.UID), string(b.UID)))
	})
}

func (m *podManager) has(uid types.UID) bool { return m.pods[uid] != nil }
