package realkubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Reasons of a ContainerStopping record.
const (
	stopLiveness  = "LivenessProbe"
	stopStartup   = "StartupProbe"
	stopPostStart = "FailedPostStartHook"
	stopAll       = "RestartAllContainers"
	stopImage     = "ImageChanged"
	stopResize    = "Resized"
	stopDeleted   = "Deleted"
	stopEvicted   = "Evicted"
	stopOther     = "Stopped"
)

// stopReason returns why the kubelet stops a container. It derives the reason from the message of
// the Killing event (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions) and from
// the kubelet's version of the pod.
func (e *eventRecorder) stopReason(about *v1.ObjectReference, message string) string {
	switch {
	case strings.Contains(message, "failed liveness probe"):
		return stopLiveness
	case strings.Contains(message, "failed startup probe"):
		return stopStartup
	case strings.Contains(message, "definition changed"):
		return stopImage
	case strings.HasSuffix(message, "resize requires restart"):
		return stopResize
	case message == stopPostStart: // kuberuntime_container.go, startContainer
		return stopPostStart
	case message == "killing": // kuberuntime_manager.go, SyncPod
		return stopAll
	}
	if p := e.pods.byUID(about.UID); p == nil || p.DeletionTimestamp != nil {
		return stopDeleted
	}
	if e.evicted.get(string(about.UID)) {
		return stopEvicted
	}
	return stopOther
}
