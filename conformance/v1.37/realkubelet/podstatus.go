package realkubelet

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/trace"
)

// podStatus returns the part of a pod's status that a trace shows.
func podStatus(pod *v1.Pod) *trace.PodStatus {
	s := &trace.PodStatus{
		Phase:           string(pod.Status.Phase),
		Reason:          pod.Status.Reason,
		Initialized:     isTrue(pod, v1.PodInitialized),
		ContainersReady: isTrue(pod, v1.ContainersReady),
		Ready:           isTrue(pod, v1.PodReady),
	}
	s.Containers = appendStatuses(s.Containers, pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	s.Containers = appendStatuses(s.Containers, pod.Spec.Containers, pod.Status.ContainerStatuses)
	return s
}

func isTrue(pod *v1.Pod, t v1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return pod.Status.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

// appendStatuses appends the statuses of the containers in the order of the spec; one without a status is
// left out.
func appendStatuses(to []trace.ContainerStatus, spec []v1.Container, statuses []v1.ContainerStatus) []trace.ContainerStatus {
	for i := range spec {
		for j := range statuses {
			if statuses[j].Name == spec[i].Name {
				to = append(to, containerStatus(&statuses[j]))
				break
			}
		}
	}
	return to
}

func containerStatus(c *v1.ContainerStatus) trace.ContainerStatus {
	s := trace.ContainerStatus{
		Name: c.Name, Ready: c.Ready, Started: c.Started != nil && *c.Started, RestartCount: c.RestartCount,
	}
	switch {
	case c.State.Running != nil:
		s.State = "running"
	case c.State.Terminated != nil:
		s.State, s.Reason, s.ExitCode = "terminated", c.State.Terminated.Reason, c.State.Terminated.ExitCode
	default:
		s.State = "waiting"
		if c.State.Waiting != nil {
			s.Reason = c.State.Waiting.Reason
		}
	}
	return s
}
