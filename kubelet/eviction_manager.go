package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim"
)

// The status of an evicted pod (pkg/kubelet/eviction/eviction_manager.go and helpers.go at
// v1.37.0).
const (
	evictedReason   = "Evicted"
	evictionGrace   = int64(1) // of a hard eviction, in seconds; the pod's own does not count
	evictionMessage = "The node was low on resource: memory. "
)

// Evictable returns the pod if it can be evicted, otherwise nil. Static pods and pods that are
// critical or inactive cannot be evicted (evictPod in pkg/kubelet/eviction/eviction_manager.go at
// v1.37.0).
func (k *Kubelet) Evictable(uid types.UID) *v1.Pod {
	pod, ok := k.podManager.GetPodByUID(uid)
	if !ok || podutil.IsStatic(pod) || priorityOf(pod) >= kubeletconfig.SystemCriticalPriority || k.isPodInactive(pod) {
		return nil
	}
	return pod
}

// Evict evicts a pod because the node is low on memory. The kubelet's status of the pod changes
// immediately; the API server gets it when the containers have stopped.
func (k *Kubelet) Evict(pod *v1.Pod) {
	k.podEvent(pod, v1.EventTypeWarning, evictedReason, evictionMessage)
	k.killPodNow("eviction", podKill{pod: pod, grace: evictionGrace, evict: true, mark: setEvictedStatus},
		func(*sim.Proc) {})
}

// setEvictedStatus sets the status of an evicted pod.
func setEvictedStatus(pod *v1.Pod, s *v1.PodStatus) {
	s.Phase = v1.PodFailed
	setDisruptionTarget(pod, s, evictedReason, evictionMessage)
}

// isEvicted reports whether the pod is evicted according to the API.
func isEvicted(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodFailed && pod.Status.Reason == evictedReason
}
