package realkubelet

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Reasons of a ContainerStopping record.
const (
	stopLiveness = "LivenessProbe"
	stopStartup  = "StartupProbe"
	stopImage    = "ImageChanged"
	stopDeleted  = "Deleted"
	stopOther    = "Stopped"
)

// stopReason says why the kubelet stops a container, from the event that it has emitted about it
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions) and from the API.
func stopReason(events *eventRecorder, api *podAPI) func(c containerKey, namespace, name string) string {
	return func(c containerKey, namespace, name string) string {
		message := events.killMessage(c)
		switch {
		case strings.Contains(message, "failed liveness probe"):
			return stopLiveness
		case strings.Contains(message, "failed startup probe"):
			return stopStartup
		case strings.Contains(message, "definition changed"):
			return stopImage
		}
		pod := api.get(types.NamespacedName{Namespace: namespace, Name: name})
		if pod == nil || pod.DeletionTimestamp != nil {
			return stopDeleted
		}
		return stopOther
	}
}
