package status

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
)

// Reasons of conditions (pkg/kubelet/status/generate.go at v1.37.0).
const (
	unknownContainerStatuses = "UnknownContainerStatuses"
	containersNotReady       = "ContainersNotReady"
	containersNotInitialized = "ContainersNotInitialized"
	podCompleted             = "PodCompleted"
	podFailed                = "PodFailed"
	readinessGatesNotReady   = "ReadinessGatesNotReady"
)

// ContainersReady returns the condition of that name: true if every regular container and every sidecar is
// ready, never in a terminal phase. A container without a status counts as unknown. The statuses are those of
// all containers, init containers too; nil if there are none yet.
func ContainersReady(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, ObservedGeneration: pod.Generation, Status: v1.ConditionFalse}
	if statuses == nil {
		c.Reason = unknownContainerStatuses
		return c
	}
	var unknown, unready []string
	look := func(name string) {
		if s := Find(statuses, name); s == nil {
			unknown = append(unknown, name)
		} else if !s.Ready {
			unready = append(unready, name)
		}
	}
	for i := range pod.Spec.InitContainers {
		if init := &pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(init) {
			look(init.Name)
		}
	}
	for i := range pod.Spec.Containers {
		look(pod.Spec.Containers[i].Name)
	}
	switch {
	case phase == v1.PodSucceeded && len(unknown) == 0:
		c.Reason = podCompleted
	case phase == v1.PodFailed:
		c.Reason = podFailed
	case len(unknown)+len(unready) > 0:
		c.Reason, c.Message = containersNotReady, blame(unknown, "unready", unready)
	default:
		c.Status = v1.ConditionTrue
	}
	return c
}

// blame names the containers for which a condition is not true: those without a status, and those with a
// wrong one.
func blame(unknown []string, wrong string, names []string) string {
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(names) > 0 {
		parts = append(parts, fmt.Sprintf("containers with %s status: %s", wrong, names))
	}
	return strings.Join(parts, ", ")
}

// Ready returns the pod's Ready condition: ContainersReady, and if that is true whether all readiness gates of the
// pod are true in conditions.
func Ready(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase, conditions []v1.PodCondition) v1.PodCondition {
	c := ContainersReady(pod, statuses, phase)
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		return c
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch g := findIn(conditions, gate.ConditionType); {
		case g == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case g.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, g.Status))
		}
	}
	if len(closed) > 0 {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, readinessGatesNotReady, strings.Join(closed, ", ")
	}
	return c
}

// NeedToReconcilePodReadiness reports whether the Ready condition of a pod with readiness gates, as the API has it,
// is not what follows from the rest of its status. Sidecars count as unknown there, so that with one it always is
// (pkg/kubelet/status/status_manager.go at v1.37.0).
func NeedToReconcilePodReadiness(pod *v1.Pod) bool {
	now := FindCondition(&pod.Status, v1.PodReady)
	if len(pod.Spec.ReadinessGates) == 0 || now == nil {
		return false
	}
	want := Ready(pod, pod.Status.ContainerStatuses, pod.Status.Phase, pod.Status.Conditions)
	return now.Status != want.Status || now.Message != want.Message
}

// Initialized returns the condition of that name: true once every regular init container has succeeded and
// every sidecar has started, and from the start of a regular container on. A pod that was initialized, as the
// conditions before say, stays so. The statuses are those of all containers.
func Initialized(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase, before []v1.PodCondition) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue}
	if statuses == nil && len(pod.Spec.InitContainers) > 0 {
		c.Status, c.Reason = v1.ConditionFalse, unknownContainerStatuses
		return c
	}
	var unknown, incomplete []string
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		if s := Find(statuses, init.Name); s == nil {
			unknown = append(unknown, init.Name)
		} else if !isInitialized(init, s) {
			incomplete = append(incomplete, init.Name)
		}
	}
	switch {
	case phase == v1.PodSucceeded && len(unknown) == 0:
		c.Reason = podCompleted
	case len(unknown)+len(incomplete) == 0, anyRegularStarted(pod, statuses):
	case isTrue(findIn(before, v1.PodInitialized)):
	default:
		c.Status, c.Reason, c.Message = v1.ConditionFalse, containersNotInitialized, blame(unknown, "incomplete", incomplete)
	}
	return c
}

func isInitialized(init *v1.Container, s *v1.ContainerStatus) bool {
	if podutil.IsRestartableInitContainer(init) {
		return s.Started != nil && *s.Started
	}
	return s.Ready
}

// anyRegularStarted reports whether a regular container runs or has ended (HasAnyRegularContainerStarted in
// pkg/kubelet/container/helpers.go at v1.37.0).
func anyRegularStarted(pod *v1.Pod, statuses []v1.ContainerStatus) bool {
	for i := range pod.Spec.Containers {
		if s := Find(statuses, pod.Spec.Containers[i].Name); s != nil && (s.State.Running != nil || s.State.Terminated != nil) {
			return true
		}
	}
	return false
}

// AllContainers returns the statuses of init containers and regular ones, nil if there are none.
func AllContainers(s *v1.PodStatus) []v1.ContainerStatus {
	if len(s.InitContainerStatuses) == 0 {
		return s.ContainerStatuses
	}
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
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
	return findIn(status.Conditions, t)
}

func findIn(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
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
