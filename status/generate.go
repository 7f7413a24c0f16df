package status

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Reasons of conditions (pkg/kubelet/status/generate.go at v1.37.0).
const (
	unknownContainerStatuses = "UnknownContainerStatuses"
	containersNotReady       = "ContainersNotReady"
	podCompleted             = "PodCompleted"
	podFailed                = "PodFailed"
)

// ContainersReady returns the condition of that name: true if every container is ready, never in a
// terminal phase. A container without a status counts as unknown.
func ContainersReady(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, ObservedGeneration: pod.Generation, Status: v1.ConditionFalse}
	if statuses == nil {
		c.Reason = unknownContainerStatuses
		return c
	}
	var unknown, unready []string
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		if s := Find(statuses, name); s == nil {
			unknown = append(unknown, name)
		} else if !s.Ready {
			unready = append(unready, name)
		}
	}
	switch {
	case phase == v1.PodSucceeded && len(unknown) == 0:
		c.Reason = podCompleted
	case phase == v1.PodFailed:
		c.Reason = podFailed
	case len(unknown)+len(unready) > 0:
		c.Reason, c.Message = containersNotReady, unreadyMessage(unknown, unready)
	default:
		c.Status = v1.ConditionTrue
	}
	return c
}

func unreadyMessage(unknown, unready []string) string {
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(unready) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unready status: %s", unready))
	}
	return strings.Join(parts, ", ")
}

// Ready returns the pod's Ready condition, which is ContainersReady as long as there are no
// readiness gates.
func Ready(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase) v1.PodCondition {
	c := ContainersReady(pod, statuses, phase)
	c.Type = v1.PodReady
	return c
}

// Initialized returns the condition of that name of a pod without init containers.
func Initialized(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue}
	if phase == v1.PodSucceeded {
		c.Reason = podCompleted
	}
	return c
}

// Find returns the status of the container of that name, or nil.
func Find(statuses []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// FindCondition returns the condition of that type, or nil.
func FindCondition(status *v1.PodStatus, t v1.PodConditionType) *v1.PodCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == t {
			return &status.Conditions[i]
		}
	}
	return nil
}

// SetCondition puts a condition in the place of the one of its type, or at the end.
func SetCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := FindCondition(status, c.Type); old != nil {
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// IsTerminal reports whether the phase is Succeeded or Failed.
func IsTerminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }
