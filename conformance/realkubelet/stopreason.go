package realkubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reasons of a ContainerStopping record.
const (
	stopLiveness  = "LivenessProbe"
	stopStartup   = "StartupProbe"
	stopPostStart = "FailedPostStartHook"
	stopImage     = "ImageChanged"
	stopDeleted   = "Deleted"
	stopEvicted   = "Evicted"
	stopOther     = "Stopped"
)

// stopReason says why the kubelet begins to stop a container of a pod, from the event that it emits about it
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions) and from what it has heard from the API.
func (e *eventRecorder) stopReason(about *v1.ObjectReference, message string) string {
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
	if p := e.api.lastHeard(types.NamespacedName{Namespace: about.Namespace, Name: about.Name}); p == nil || p.DeletionTimestamp != nil {
		return stopDeleted
	}
	if e.isEvicted(string(about.UID)) {
		return stopEvicted
	}
	return stopOther
}
