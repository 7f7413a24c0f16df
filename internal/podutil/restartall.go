package podutil

import v1 "k8s.io/api/core/v1"

// AllContainersRestarting is the condition that all containers of the pod are about to restart,
// because a rule with the action RestartAllContainers says so. Package k8s.io/api has the name
// since 1.35.
const AllContainersRestarting v1.PodConditionType = "AllContainersRestarting"

// AllContainersCouldRestart reports whether a container has a rule with the action
// RestartAllContainers.
func AllContainersCouldRestart(spec *v1.PodSpec) bool {
	for c := range Containers(spec) {
		for _, rule := range RestartPolicyRules(c) {
			if rule.Action == RestartAllContainers {
				return true
			}
		}
	}
	return false
}

// RestartsAllContainers reports whether an exit of the container with this code restarts all
// containers of its pod.
func RestartsAllContainers(c *v1.Container, exitCode int32) bool {
	return actionFor(c, exitCode) == RestartAllContainers
}

// ShouldAllContainersRestart reports whether all containers of a pod must restart: the pod's status
// has the condition AllContainersRestarting, or a restart rule with that action matches an exit.
// exitCode returns the exit code of the newest instance of a container in the runtime; if it
// returns false, the container's status does not count either. If exitCode is nil, only the status
// counts (pkg/kubelet/container/helpers.go at v1.37.0).
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

// endOf returns the terminated state of a container in a status, or nil.
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
