package status

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
)

// TerminatePod stores the last status of a pod: no container without an end that may have run, no phase but a
// terminal one. From then on the pod may be deleted from the API (TerminatePod in
// pkg/kubelet/status/status_manager.go at v1.37.0).
func (m *Manager) TerminatePod(pod *v1.Pod, cause int64) {
	status := pod.Status.DeepCopy()
	if cached, ok := m.statuses[pod.UID]; ok {
		status = cached.Status.DeepCopy()
	}
	if hasInitialized(pod) {
		endUnknown(status.ContainerStatuses)
	}
	endUnknown(attempted(status.InitContainerStatuses))
	if !IsTerminal(status.Phase) {
		status.Phase = v1.PodFailed
	}
	m.update(pod, status, true, true, cause)
}

// endUnknown gives the containers an end that have none: how they ended is not known.
func endUnknown(statuses []v1.ContainerStatus) {
	for i := range statuses {
		if s := &statuses[i].State; s.Terminated == nil {
			*s = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated", ExitCode: 137,
			}}
		}
	}
}

// hasInitialized reports whether a regular container may have been started, by what the API has: one of them
// is no longer in its first wait, or the last init container has done what the next one waits for.
func hasInitialized(pod *v1.Pod) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.LastTerminationState.Terminated != nil || c.State.Waiting == nil {
			return true
		}
	}
	n := len(pod.Status.InitContainerStatuses)
	if n == 0 || n > len(pod.Spec.InitContainers) {
		return false
	}
	last := &pod.Status.InitContainerStatuses[n-1]
	if podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[n-1]) {
		return last.State.Running != nil && last.Started != nil && *last.Started
	}
	return hasSucceeded(last.LastTerminationState) || hasSucceeded(last.State)
}

func hasSucceeded(s v1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 0 }

// attempted returns the statuses of the init containers up to the last one that has been started; the first
// one counts as started in any case.
func attempted(statuses []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(statuses) - 1; i > 0; i-- {
		if statuses[i].State.Waiting == nil || statuses[i].LastTerminationState.Terminated != nil {
			return statuses[:i+1]
		}
	}
	return statuses[:min(1, len(statuses))]
}

// illegalTransition reports whether a container that has ended and is not to be restarted would run or wait
// again (checkContainerStateTransition in status_manager.go at v1.37.0).
func illegalTransition(pod *v1.Pod, old, status *v1.PodStatus) bool {
	return pod.Spec.RestartPolicy != v1.RestartPolicyAlways && !podutil.AllContainersCouldRestart(&pod.Spec) &&
		(leavesItsEnd(pod, pod.Spec.Containers, old.ContainerStatuses, status.ContainerStatuses) ||
			leavesItsEnd(pod, pod.Spec.InitContainers, old.InitContainerStatuses, status.InitContainerStatuses))
}

func leavesItsEnd(pod *v1.Pod, specs []v1.Container, old, statuses []v1.ContainerStatus) bool {
	for i := range specs {
		before, now := Find(old, specs[i].Name), Find(statuses, specs[i].Name)
		if before == nil || before.State.Terminated == nil || now == nil || now.State.Terminated != nil {
			continue
		}
		code := before.State.Terminated.ExitCode
		retried := code != 0 && pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
		if !retried && !podutil.ContainerShouldRestart(&specs[i], &pod.Spec, code) {
			return true
		}
	}
	return false
}
