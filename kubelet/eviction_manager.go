package kubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim"
)

// What the eviction manager does when the node is short of memory (pkg/kubelet/eviction at v1.37.0).
const (
	evictedReason   = "Evicted"
	evictionGrace   = int64(1) // of a hard eviction, whatever the pod's own grace period
	evictionMessage = "The node was low on resource: memory. "
)

// Evictable returns the pod if it is there to be evicted: one that has not come to its end and is not critical
// (evictPod in pkg/kubelet/eviction/eviction_manager.go at v1.37.0).
func (k *Kubelet) Evictable(uid types.UID) *v1.Pod {
	pod, ok := k.podManager.GetPodByUID(uid)
	if !ok || priorityOf(pod) >= kubeletconfig.SystemCriticalPriority || k.isPodInactive(pod) {
		return nil
	}
	return pod
}

// Evict evicts a pod for want of memory. Its status says so at once; the API sees it when the containers are gone.
func (k *Kubelet) Evict(pod *v1.Pod, cause int64) {
	k.podEvent(pod, v1.EventTypeWarning, evictedReason, evictionMessage, cause)
	k.killPodNow("eviction", podKill{pod: pod, grace: evictionGrace, evict: true, mark: setEvictedStatus, cause: cause}, func(*sim.Proc) {})
}

// setEvictedStatus is what the eviction manager makes of the status of a pod that begins to terminate.
func setEvictedStatus(pod *v1.Pod, s *v1.PodStatus) {
	s.Phase = v1.PodFailed
	setDisruptionTarget(pod, s, evictedReason, evictionMessage)
}

// isEvicted reports whether the API shows the pod as evicted.
func isEvicted(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodFailed && pod.Status.Reason == evictedReason
}
