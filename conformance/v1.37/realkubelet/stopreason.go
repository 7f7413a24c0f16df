package realkubelet

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Reasons of a ContainerStopping record.
const (
	stopLiveness  = "LivenessProbe"
	stopStartup   = "StartupProbe"
	stopPostStart = "FailedPostStartHook"
	stopImage     = "ImageChanged"
	stopDeleted   = "Deleted"
	stopOther     = "Stopped"
)

// stopReason says why the kubelet begins to stop a container of a pod, from the event that it emits about it
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions) and from the API.
func (a *podAPI) stopReason(pod types.NamespacedName, message string) string {
	switch {
	case strings.Contains(message, "failed liveness probe"):
		return stopLiveness
	case strings.Contains(message, "failed startup probe"):
		return stopStartup
	case strings.Contains(message, "definition changed"):
		return stopImage
	case message == stopPostStart: // kuberuntime_container.go, startContainer
		return stopPostStart
	}
	if p := a.get(pod); p == nil || p.DeletionTimestamp != nil {
		return stopDeleted
	}
	return stopOther
}
