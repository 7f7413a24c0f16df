package kubelet

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/status"
)

// What the eviction manager does when the node is short of memory (pkg/kubelet/eviction at v1.37.0).
const (
	evictedReason      = "Evicted"
	evictionGrace      = int64(1) // of a hard eviction, whatever the pod's own grace period
	evictionMessage    = "The node was low on resource: memory. "
	killTimeout        = 10 * time.Second // that it gives a pod with so short a grace period to be gone
	killTimeoutMessage = "Container runtime did not kill the pod within specified grace period."
)

// Evictable returns the pod if it is there to be evicted: one that has not come to its end and is not critical
// (evictPod in pkg/kubelet/eviction/eviction_manager.go, isPodInactive in kubelet_pods.go at v1.37.0).
func (k *Kubelet) Evictable(uid types.UID) *v1.Pod {
	pod, ok := k.podManager.GetPodByUID(uid)
	if !ok || pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCriticalPriority {
		return nil
	}
	w, known := k.workers.workers[uid]
	if known && w.terminated {
		return nil
	}
	stored, _ := k.status.GetPodStatus(uid)
	terminal := status.IsTerminal(pod.Status.Phase) || stored != nil && status.IsTerminal(stored.Phase)
	if terminal && (!known || !w.terminating) {
		return nil
	}
	return pod
}

// systemCriticalPriority is the least priority of pods that the node needs (pkg/apis/scheduling at v1.37.0).
const systemCriticalPriority = 2_000_000_000

// Evict evicts a pod for want of memory. Its status says so at once; the API sees it when the containers are gone.
func (k *Kubelet) Evict(pod *v1.Pod, cause int64) {
	k.podEvent(pod, v1.EventTypeWarning, evictedReason, evictionMessage, cause)
	grace := evictionGrace
	k.workers.update(podUpdate{typ: syncKill, pod: pod, grace: &grace, evict: true, cause: cause})
	k.sim.Go("eviction of pod "+podName(pod), func(p *sim.Proc) {
		p.Sleep(killTimeout)
		if w, ok := k.workers.workers[pod.UID]; ok && !w.terminated {
			k.podEvent(pod, v1.EventTypeWarning, "ExceededGracePeriod", killTimeoutMessage, cause)
		}
	})
}

// setEvicted is what the eviction manager makes of the status of a pod that begins to terminate.
func setEvicted(pod *v1.Pod, s *v1.PodStatus) {
	s.Phase, s.Reason, s.Message = v1.PodFailed, evictedReason, evictionMessage
	status.SetCondition(s, v1.PodCondition{
		Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
		Reason: v1.PodReasonTerminationByKubelet, Message: evictionMessage,
	})
}

// isEvicted reports whether the API shows the pod as evicted.
func isEvicted(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodFailed && pod.Status.Reason == evictedReason
}
