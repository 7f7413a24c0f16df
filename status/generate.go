package status

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
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

// GenerateContainersReadyCondition returns the ContainersReady condition. It is True if every
// regular container and every sidecar is ready and the phase is not terminal. Pass the statuses of
// all containers, including init containers; nil if there are none yet. A container without a
// status counts as unknown.
func GenerateContainersReadyCondition(pod *v1.Pod, statuses []v1.ContainerStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, ObservedGeneration: pod.Generation, Status: v1.ConditionFalse}
	if statuses == nil {
		c.Reason = unknownContainerStatuses
		return c
	}
	var unknown, unready []string
	check := func(name string) {
		if s := FindContainerStatus(statuses, name); s == nil {
			unknown = append(unknown, name)
		} else if !s.Ready {
			unready = append(unready, name)
		}
	}
	for i := range pod.Spec.InitContainers {
		if init := &pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(init) {
			check(init.Name)
		}
	}
	for i := range pod.Spec.Containers {
		check(pod.Spec.Containers[i].Name)
	}
	switch {
	case phase == v1.PodSucceeded && len(unknown) == 0:
		c.Reason = podCompleted
	case phase == v1.PodFailed:
		c.Reason = podFailed
	case len(unknown)+len(unready) > 0:
		c.Reason, c.Message = containersNotReady, conditionMessage(unknown, "unready", unready)
	default:
		c.Status = v1.ConditionTrue
	}
	return c
}

// conditionMessage names the containers that keep a condition False: those without a status, and
// those in a state that the condition does not allow.
func conditionMessage(unknown []string, state string, names []string) string {
	message := ""
	if len(unknown) > 0 {
		message = "containers with unknown status: [" + strings.Join(unknown, " ") + "]"
	}
	if len(names) > 0 {
		if message != "" {
			message += ", "
		}
		message += "containers with " + state + " status: [" + strings.Join(names, " ") + "]"
	}
	return message
}

// GeneratePodReadyCondition returns the Ready condition. It is True if ContainersReady is True and
// the conditions that the pod's readiness gates name are True.
func GeneratePodReadyCondition(pod *v1.Pod, conditions []v1.PodCondition, statuses []v1.ContainerStatus,
	phase v1.PodPhase) v1.PodCondition {
	c := GenerateContainersReadyCondition(pod, statuses, phase)
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		return c
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch g := findIn(conditions, gate.ConditionType); {
		case g == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
				gate.ConditionType))
		case g.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
				gate.ConditionType, g.Status))
		}
	}
	if len(closed) > 0 {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, readinessGatesNotReady, strings.Join(closed, ", ")
	}
	return c
}

// GeneratePodInitializedCondition returns the Initialized condition. It becomes True when every
// regular init container has succeeded and every sidecar has started, or when a regular container
// starts. Then it stays True: before are the previous conditions. Pass the statuses of all
// containers.
func GeneratePodInitializedCondition(pod *v1.Pod, before []v1.PodCondition, statuses []v1.ContainerStatus,
	phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue}
	if statuses == nil && len(pod.Spec.InitContainers) > 0 {
		c.Status, c.Reason = v1.ConditionFalse, unknownContainerStatuses
		return c
	}
	var unknown, incomplete []string
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		if s := FindContainerStatus(statuses, init.Name); s == nil {
			unknown = append(unknown, init.Name)
		} else if !isInitContainerInitialized(init, s) {
			incomplete = append(incomplete, init.Name)
		}
	}
	switch {
	case phase == v1.PodSucceeded && len(unknown) == 0:
		c.Reason = podCompleted
	case len(unknown)+len(incomplete) == 0, hasAnyRegularContainerStarted(pod, statuses):
	case isTrue(findIn(before, v1.PodInitialized)):
	default:
		c.Status, c.Reason, c.Message = v1.ConditionFalse, containersNotInitialized,
			conditionMessage(unknown, "incomplete", incomplete)
	}
	return c
}

func isInitContainerInitialized(init *v1.Container, s *v1.ContainerStatus) bool {
	if podutil.IsRestartableInitContainer(init) {
		return s.Started != nil && *s.Started
	}
	return s.Ready
}

// hasAnyRegularContainerStarted reports whether a regular container runs or has terminated
// (pkg/kubelet/container/helpers.go at v1.37.0).
func hasAnyRegularContainerStarted(pod *v1.Pod, statuses []v1.ContainerStatus) bool {
	for i := range pod.Spec.Containers {
		if s := FindContainerStatus(statuses, pod.Spec.Containers[i].Name); s != nil && (s.State.Running != nil ||
			s.State.Terminated != nil) {
			return true
		}
	}
	return false
}

// AllContainerStatuses returns the statuses of the init containers and of the regular containers,
// nil if there are none.
func AllContainerStatuses(s *v1.PodStatus) []v1.ContainerStatus {
	if len(s.InitContainerStatuses) == 0 {
		return s.ContainerStatuses
	}
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
}

// FindContainerStatus returns the status of the container with this name, or nil.
func FindContainerStatus(statuses []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// FindCondition returns the condition of this type, or nil.
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

// SetCondition replaces the condition of the same type, or appends the condition.
func SetCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := FindCondition(status, c.Type); old != nil {
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// IsTerminal reports whether the phase is Succeeded or Failed.
func IsTerminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

func isTrue(c *v1.PodCondition) bool { return c != nil && c.Status == v1.ConditionTrue }
