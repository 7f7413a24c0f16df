package kubelet

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/status"
)

// hostIP is the address of the simulated node.
const hostIP = "10.0.0.1"

// containerIDPrefix is put before the runtime's ID in a status.
const containerIDPrefix = "containerd://"

// Reasons and messages of a status (pkg/kubelet at v1.37.0).
const (
	containerCreating  = "ContainerCreating"
	statusUnknown      = "ContainerStatusUnknown"
	sandboxNotReady    = "PodSandboxNotReady"
	noSandboxMessage   = "no pod sandbox exists"
	notReadyMessage    = "pod sandbox is not ready"
	lostContainer      = "The container could not be located when the pod was deleted.  The container used to be Running"
	lostContainerCode  = 137
	instancesPerStatus = 2 // the newest container of a name and the one before it
)

// generateAPIPodStatus computes the status of a pod from the runtime's, the one before and the probe
// results. terminal says that none of its containers will run again
// (pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) generateAPIPodStatus(p *sim.Proc, u podUpdate, s *podStatus, terminal bool) *v1.PodStatus {
	old, ok := k.status.GetPodStatus(u.pod.UID)
	if !ok {
		old = &u.pod.Status
	}
	api := &v1.PodStatus{HostIP: hostIP, HostIPs: []v1.HostIP{{IP: hostIP}}, QOSClass: u.pod.Status.QOSClass}
	for _, ip := range s.ips {
		api.PodIP = s.ips[0]
		api.PodIPs = append(api.PodIPs, v1.PodIP{IP: ip})
	}
	api.ContainerStatuses = k.containerStatuses(u.pod, s, old.ContainerStatuses)
	api.Phase = mergePhase(phaseOf(u.pod, api.ContainerStatuses, terminal), old, u.pod)
	if api.Phase == old.Phase {
		api.Reason, api.Message = old.Reason, old.Message
	}
	k.prober.UpdatePodStatus(p, u.pod, api, u.cause)
	api.Conditions = []v1.PodCondition{
		k.readyToStartContainers(u.pod, s),
		status.Initialized(u.pod, api.ContainerStatuses, api.Phase),
		status.Ready(u.pod, api.ContainerStatuses, api.Phase),
		status.ContainersReady(u.pod, api.ContainerStatuses, api.Phase),
		{Type: v1.PodScheduled, ObservedGeneration: u.pod.Generation, Status: v1.ConditionTrue},
	}
	p.Preempt("pod status generated, not stored")
	return api
}

// mergePhase keeps a pod in its terminal phase once it has one.
func mergePhase(phase v1.PodPhase, old *v1.PodStatus, pod *v1.Pod) v1.PodPhase {
	switch {
	case status.IsTerminal(pod.Status.Phase):
		return pod.Status.Phase
	case status.IsTerminal(phase):
		return phase
	case status.IsTerminal(old.Phase):
		return old.Phase
	}
	return phase
}

// phaseOf returns the phase of a pod without init containers (getPhase in kubelet_pods.go at v1.37.0).
func phaseOf(pod *v1.Pod, statuses []v1.ContainerStatus, terminal bool) v1.PodPhase {
	var unknown, running, waiting, stopped, stoppedForGood, succeeded int
	for i := range pod.Spec.Containers {
		c := status.Find(statuses, pod.Spec.Containers[i].Name)
		switch {
		case c == nil:
			unknown++
		case c.State.Running != nil:
			running++
		case c.State.Terminated != nil:
			stopped++
			if !restartsAfter(pod, c.State.Terminated.ExitCode) {
				stoppedForGood++
			}
			if c.State.Terminated.ExitCode == 0 {
				succeeded++
			}
		case c.State.Waiting != nil && c.LastTerminationState.Terminated != nil:
			stopped++
			if !restartsAfter(pod, c.LastTerminationState.Terminated.ExitCode) {
				stoppedForGood++
			}
		case c.State.Waiting != nil:
			waiting++
		default:
			unknown++
		}
	}
	switch {
	case waiting > 0 || unknown > 0 || running+stopped == 0:
		return v1.PodPending
	case running > 0:
		return v1.PodRunning
	case !terminal && stopped != stoppedForGood:
		return v1.PodRunning
	case stopped == succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// restartsAfter reports whether a container that ended with this code is started again
// (ContainerShouldRestart in pkg/api/v1/pod/util.go at v1.37.0).
func restartsAfter(pod *v1.Pod, exitCode int32) bool {
	switch pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return exitCode != 0
	}
	return true
}

// readyToStartContainers is the condition that the pod has a sandbox
// (GeneratePodReadyToStartContainersCondition in pkg/kubelet/status/generate.go at v1.37.0).
func (k *Kubelet) readyToStartContainers(pod *v1.Pod, s *podStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue}
	if change := sandboxChange(s); change != "" {
		c.Status = v1.ConditionFalse
		if k.profile.SandboxReasonInCondition {
			c.Reason, c.Message = sandboxNotReady, change
		}
	}
	return c
}

// sandboxChange says why the pod needs a new sandbox, or nothing
// (PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go at v1.37.0).
func sandboxChange(s *podStatus) string {
	switch {
	case len(s.sandboxes) == 0:
		return noSandboxMessage
	case !s.sandboxes[0].Ready:
		return notReadyMessage
	}
	return ""
}

// containerStatuses converts what the runtime says of the containers. A container that waits to be started
// again shows why (convertToAPIContainerStatuses in kubelet_pods.go at v1.37.0).
func (k *Kubelet) containerStatuses(pod *v1.Pod, s *podStatus, old []v1.ContainerStatus) []v1.ContainerStatus {
	statuses := make([]v1.ContainerStatus, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		c := k.containerStatus(&pod.Spec.Containers[i], s, status.Find(old, pod.Spec.Containers[i].Name), pod)
		if reason, ok := k.reasons[startKey{pod.UID, c.Name}]; ok && shouldBeRestarted(pod, s.find(c.Name)) {
			if c.State.Terminated != nil {
				c.LastTerminationState = c.State
			}
			c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason.reason, Message: reason.message}}
		}
		statuses = append(statuses, c)
	}
	return statuses
}

// containerStatus goes by the newest container of the name, and by the one before it for how the last
// run ended.
func (k *Kubelet) containerStatus(spec *v1.Container, s *podStatus, old *v1.ContainerStatus, pod *v1.Pod) v1.ContainerStatus {
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
		return missingContainer(spec, old, pod)
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
	if k.profile.RemovedInstanceKept {
		keepRemoved(&c, old)
	}
	if k.profile.StartedCarriedOver && rc.State == fakeruntime.Running {
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
// ended before; if it ran before it was lost.
func missingContainer(spec *v1.Container, old *v1.ContainerStatus, pod *v1.Pod) v1.ContainerStatus {
	c := v1.ContainerStatus{
		Name: spec.Name, Image: spec.Image,
		State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: containerCreating}},
	}
	if old == nil {
		return c
	}
	if old.State.Terminated != nil {
		return *old
	}
	c.RestartCount, c.LastTerminationState = old.RestartCount, old.LastTerminationState
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
