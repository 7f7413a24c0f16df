package kubelet

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/status"
)

// containerIDPrefix is put before the runtime's ID in a status.
const containerIDPrefix = "containerd://"

// Reasons and messages of a container's status (pkg/kubelet/kubelet_pods.go and container/runtime.go at v1.37.0).
const (
	containerCreating  = "ContainerCreating"
	podInitializing    = "PodInitializing"
	statusUnknown      = "ContainerStatusUnknown"
	lostContainer      = "The container could not be located when the pod was deleted.  The container used to be Running"
	lostContainerCode  = 137
	lostInitContainer  = "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally"
	instancesPerStatus = 2 // the newest container of a name and the one before it
)

// containerStatuses converts what the runtime says of the containers. A container that waits to be started
// again shows why (convertToAPIContainerStatuses in kubelet_pods.go at v1.37.0). restarting says that all containers of
// the pod are to start anew.
func (k *Kubelet) containerStatuses(pod *v1.Pod, s *podStatus, old []v1.ContainerStatus, restarting bool) []v1.ContainerStatus {
	statuses := make([]v1.ContainerStatus, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		c := k.containerStatus(spec, s, status.FindContainerStatus(old, spec.Name), pod, restarting)
		k.showWhyItWaits(&c, pod, spec, s)
		statuses = append(statuses, c)
	}
	return statuses
}

// initContainerStatuses does the same for the init containers, in the order of the spec. One that ended with 0
// never shows that it waits, not even a sidecar; a regular one that the runtime has forgotten has succeeded if
// there is a regular container.
func (k *Kubelet) initContainerStatuses(pod *v1.Pod, s *podStatus, old []v1.ContainerStatus, restarting bool) []v1.ContainerStatus {
	var statuses []v1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		c, rc := k.containerStatus(spec, s, status.FindContainerStatus(old, spec.Name), pod, restarting), s.find(spec.Name)
		switch {
		case rc != nil && rc.State == fakeruntime.Exited && rc.ExitCode == 0:
		case rc == nil && c.State.Waiting != nil && !podutil.IsRestartableInitContainer(spec) && s.hasRegular(pod):
			c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed", Message: lostInitContainer}}
		default:
			k.showWhyItWaits(&c, pod, spec, s)
		}
		statuses = append(statuses, c)
	}
	return statuses
}

// showWhyItWaits has a container wait that is to be started again and could not be the last time.
func (k *Kubelet) showWhyItWaits(c *v1.ContainerStatus, pod *v1.Pod, spec *v1.Container, s *podStatus) {
	reason, ok := k.reasons[startKey{pod.UID, spec.Name}]
	if !k.profile.ContainerRestartRules {
		spec = &v1.Container{Name: spec.Name} // by the pod's policy (pkg/kubelet/container/helpers.go at v1.34.4)
	}
	if !ok || !shouldBeRestarted(pod, spec, s.find(spec.Name)) {
		return
	}
	if c.State.Terminated != nil {
		c.LastTerminationState = c.State
	}
	c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason.reason, Message: reason.message}}
}

// containerStatus goes by the newest container of the name, and by the one before it for how the last
// run ended.
func (k *Kubelet) containerStatus(spec *v1.Container, s *podStatus, old *v1.ContainerStatus, pod *v1.Pod, restarting bool) v1.ContainerStatus {
	seen := 0
	var c v1.ContainerStatus
	for i := range s.containers {
		if s.containers[i].Name != spec.Name {
			continue
		}
		if seen++; seen == 1 {
			c = k.convert(spec, &s.containers[i], old)
		} else if seen == instancesPerStatus {
			c.LastTerminationState = k.stateOf(&s.containers[i])
			break
		}
	}
	if seen == 0 {
		return missingContainer(spec, old, pod, restarting)
	}
	return c
}

// convert converts one container. What was known of an instance that the runtime no longer has is
// carried on in some versions, and in some is Started, whatever instance it was said of.
func (k *Kubelet) convert(spec *v1.Container, rc *fakeruntime.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	c := v1.ContainerStatus{
		Name: spec.Name, Image: rc.Image, ImageID: rc.Image, ContainerID: containerIDPrefix + rc.ID,
		RestartCount: int32(rc.Attempt), State: k.stateOf(rc),
		AllocatedResources: spec.Resources.Requests, Resources: spec.Resources.DeepCopy(),
	}
	if old == nil {
		return c
	}
	if k.profile.RestartAllContainersOnContainerExits {
		keepRemoved(&c, old)
	}
	if !k.profile.ChangeContainerStatusOnKubeletRestart && rc.State == fakeruntime.Running {
		c.Started = old.Started
	}
	return c
}

// keepRemoved carries on how the last run ended and how often the container was restarted.
func keepRemoved(c, old *v1.ContainerStatus) {
	attempt := c.RestartCount
	c.RestartCount = max(attempt, old.RestartCount)
	if old.ContainerID != c.ContainerID && old.State.Terminated != nil {
		c.LastTerminationState.Terminated = old.State.Terminated
	} else if old.LastTerminationState.Terminated != nil {
		c.LastTerminationState.Terminated = old.LastTerminationState.Terminated
	}
	if c.State.Running != nil && old.State.Terminated != nil && old.RestartCount >= attempt {
		c.RestartCount = old.RestartCount + 1
	}
}

func (k *Kubelet) stateOf(rc *fakeruntime.Container) v1.ContainerState {
	switch rc.State {
	case fakeruntime.Running:
		return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(k.wall(rc.StartedAt))}}
	case fakeruntime.Exited:
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			ExitCode: rc.ExitCode, Reason: rc.Reason, ContainerID: containerIDPrefix + rc.ID,
			StartedAt: metav1.NewTime(k.wall(rc.StartedAt)), FinishedAt: metav1.NewTime(k.wall(rc.FinishedAt)),
		}}
	}
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}
}

// missingContainer is the status of a container that the runtime does not have: it waits, unless it
// ended before; if it ran before it was lost, or removed so that all containers start anew.
func missingContainer(spec *v1.Container, old *v1.ContainerStatus, pod *v1.Pod, restarting bool) v1.ContainerStatus {
	reason := containerCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = podInitializing
	}
	c := v1.ContainerStatus{
		Name: spec.Name, Image: spec.Image,
		State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}},
	}
	if old == nil {
		return c
	}
	if old.State.Terminated != nil {
		c = *old
	} else {
		c.RestartCount, c.LastTerminationState = old.RestartCount, old.LastTerminationState
	}
	if restarting && old.State.Waiting == nil {
		return removedContainer(c, old)
	}
	if old.State.Running != nil && c.LastTerminationState.Terminated == nil {
		c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
			Reason: statusUnknown, Message: lostContainer, ExitCode: lostContainerCode,
		}
		if pod.DeletionTimestamp == nil {
			c.RestartCount++
		}
	}
	return c
}
