package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// What is said of a pod that comes while the node is shut down
// (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
const (
	notAdmittedReason = "NodeShutdown"
	notAdmittedWhy    = "Pod was rejected as the node is shutting down."
)

// admit reports whether a new pod may run. The node takes none while it is shutting down; one that was rejected has failed
// (HandlePodAdditions and rejectPod in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) admit(pod *v1.Pod, cause int64) bool {
	w, known := k.workers.workers[pod.UID]
	if known && w.terminating || status.IsTerminal(pod.Status.Phase) {
		return true
	}
	if k.shuttingDown {
		k.reject(pod, cause)
		return false
	}
	k.disk.admitted[pod.UID] = true
	return true
}

func (k *Kubelet) reject(pod *v1.Pod, cause int64) {
	k.rejected = append(k.rejected, pod.UID)
	k.podEvent(pod, v1.EventTypeWarning, notAdmittedReason, notAdmittedWhy, cause)
	k.status.SetPodStatus(pod, &v1.PodStatus{
		QOSClass: pod.Status.QOSClass, Phase: v1.PodFailed, Reason: notAdmittedReason, Message: "Pod was rejected: " + notAdmittedWhy,
	}, cause)
}

// passesOver reports whether changes of a pod do not matter as it was not admitted (HandlePodUpdates and HandlePodReconcile
// in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) passesOver(pod *v1.Pod) bool {
	return k.profile.UpdateNeedsAdmission && !k.disk.admitted[pod.UID]
}

// endRejected has pods end that were rejected and have been deleted: no worker knows of them
// (filterTerminalPodsToDelete in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) endRejected() {
	k.rejected = slices.DeleteFunc(k.rejected, func(uid types.UID) bool {
		pod, desired := k.podManager.GetPodByUID(uid)
		_, known := k.workers.workers[uid]
		if !desired || known {
			return true
		}
		ends := pod.DeletionTimestamp != nil && status.IsTerminal(pod.Status.Phase)
		if ends {
			k.workers.update(podUpdate{typ: syncKill, pod: pod, cause: k.podManager.wanted[uid]})
		}
		return ends
	})
}
