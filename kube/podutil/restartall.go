package podutil

import v1 "k8s.io/api/core/v1"

// Names that k8s.io/api has from 1.35 on: the action of a restart rule that has all containers of the pod start anew, and
// the condition that they are about to.
const (
	RestartAllContainers    v1.ContainerRestartRuleAction = "RestartAllContainers"
	AllContainersRestarting v1.PodConditionType           = "AllContainersRestarting"
)

// AllContainersCouldRestart reports whether a container has a rule with the action RestartAllContainers.
func AllContainersCouldRestart(spec *v1.PodSpec) bool {
	for c := range Containers(spec) {
		for i := range c.RestartPolicyRules {
			if c.RestartPolicyRules[i].Action == RestartAllContainers {
				return true
			}
		}
	}
	return false
}

// RestartsAllContainers reports whether a container that ended with this code has all containers of its pod start anew.
func RestartsAllContainers(c *v1.Container, exitCode int32) bool {
	return actionFor(c, exitCode) == RestartAllContainers
}

// ShouldAllContainersRestart reports whether all containers of a pod are to start anew: its status says that they are
// about to, or a container has ended in a way for which a rule says so. exitCode tells how the newest instance of a
// container has ended in the runtime, if it has; of those that it knows nothing of the status does not count either.
// Nil: only the status counts (function of that name in pkg/kubelet/container/helpers.go at v1.37.0).
func ShouldAllContainersRestart(pod *v1.Pod, status *v1.PodStatus, exitCode func(name string) (int32, bool)) bool {
	for _, c := range status.Conditions {
		if c.Type == AllContainersRestarting && c.Status == v1.ConditionTrue {
			return true
		}
	}
	if !AllContainersCouldRestart(&pod.Spec) {
		return false
	}
	for c := range Containers(&pod.Spec) {
		if exitCode != nil {
			code, ended := exitCode(c.Name)
			if !ended {
				continue
			}
			if RestartsAllContainers(c, code) {
				return true
			}
		}
		if end := endOf(status, c.Name); end != nil && RestartsAllContainers(c, end.ExitCode) {
			return true
		}
	}
	return false
}

// endOf returns how a container has ended, as a status says, or nil.
func endOf(status *v1.PodStatus, name string) *v1.ContainerStateTerminated {
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return statuses[i].State.Terminated
			}
		}
	}
	return nil
}
