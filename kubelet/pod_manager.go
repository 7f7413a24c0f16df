package kubelet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
)

// podManager holds the desired pods that the sync loop knows, and the mirror pods in the API
// (pkg/kubelet/pod/pod_manager.go at v1.37.0).
type podManager struct {
	pods    map[types.UID]*v1.Pod // without mirror pods
	wanted  map[types.UID]int64   // steps of the records that caused the current specifications
	limited []types.UID           // pods with an activeDeadlineSeconds

	static    map[string]*v1.Pod      // the static pods, by namespace/name
	mirrors   map[string]*v1.Pod      // the mirror pods, by namespace/name
	staticUID map[types.UID]types.UID // by the UID of the mirror pod
	mirrorUID map[types.UID]types.UID // by the UID of the static pod, which may be gone
}

func newPodManager() *podManager {
	return &podManager{
		pods: map[types.UID]*v1.Pod{}, wanted: map[types.UID]int64{},
		static: map[string]*v1.Pod{}, mirrors: map[string]*v1.Pod{},
		staticUID: map[types.UID]types.UID{}, mirrorUID: map[types.UID]types.UID{},
	}
}

// GetPodByUID returns the pod with this UID, but no mirror pod.
func (m *podManager) GetPodByUID(uid types.UID) (*v1.Pod, bool) {
	pod, ok := m.pods[uid]
	return pod, ok
}

// GetMirrorPodByPod returns the mirror pod with the name of a pod.
func (m *podManager) GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool) {
	mirror, ok := m.mirrors[podName(pod)]
	return mirror, ok
}

// TranslatePodUID returns the UID of the static pod for the UID of its mirror pod, and other UIDs
// unchanged.
func (m *podManager) TranslatePodUID(uid types.UID) types.UID {
	return cmp.Or(m.staticUID[uid], uid)
}

// GetMirrorUID returns the UID under which the API knows a pod: that of the mirror pod for a static
// pod. It returns false for a static pod without a mirror pod. The mirror pod of a removed static
// pod stays its own until another static pod takes its name (GetUIDTranslations in
// pkg/kubelet/pod/pod_manager.go at v1.37.0).
func (m *podManager) GetMirrorUID(uid types.UID) (types.UID, bool) {
	if mirror, ok := m.mirrorUID[uid]; ok {
		return mirror, true
	}
	pod, ok := m.pods[uid]
	return uid, !ok || !podutil.IsStatic(pod)
}

// pair notes that a mirror pod belongs to a static pod.
func (m *podManager) pair(mirror, static *v1.Pod) {
	m.unpair(mirror)
	m.staticUID[mirror.UID], m.mirrorUID[static.UID] = static.UID, mirror.UID
}

func (m *podManager) unpair(mirror *v1.Pod) {
	if static, ok := m.staticUID[mirror.UID]; ok {
		delete(m.staticUID, mirror.UID)
		delete(m.mirrorUID, static)
	}
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
	if podutil.IsMirror(pod) {
		m.mirrors[podName(pod)] = pod
		if static, ok := m.static[podName(pod)]; ok {
			m.pair(pod, static)
		}
		return
	}
	if pod.Spec.ActiveDeadlineSeconds != nil && !slices.Contains(m.limited, pod.UID) {
		m.limited = append(m.limited, pod.UID)
	}
	m.pods[pod.UID] = pod
	if podutil.IsStatic(pod) {
		m.static[podName(pod)] = pod
		if mirror, ok := m.mirrors[podName(pod)]; ok {
			m.pair(mirror, pod)
		}
	}
}

// remove removes a pod.
func (m *podManager) remove(pod *v1.Pod) {
	if podutil.IsMirror(pod) {
		delete(m.mirrors, podName(pod))
		m.unpair(pod)
		return
	}
	m.limited = slices.DeleteFunc(m.limited, func(other types.UID) bool { return other == pod.UID })
	delete(m.pods, pod.UID)
	delete(m.wanted, pod.UID)
	if podutil.IsStatic(pod) {
		delete(m.static, podName(pod))
	}
}

// orphanedMirrors returns the mirror pods without a static pod, ordered by name.
func (m *podManager) orphanedMirrors() []*v1.Pod {
	if len(m.mirrors) == 0 {
		return nil
	}
	var orphans []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(m.mirrors)) {
		if m.static[name] == nil {
			orphans = append(orphans, m.mirrors[name])
		}
	}
	return orphans
}

// list returns all pods without the mirror pods, ordered by name.
func (m *podManager) list() []*v1.Pod {
	return slices.SortedFunc(maps.Values(m.pods), func(a, b *v1.Pod) int {
		return cmp.Or(strings.Compare(podName(a), podName(b)), strings.Compare(string(a.UID), string(b.UID)))
	})
}

func (m *podManager) has(uid types.UID) bool { return m.pods[uid] != nil }
