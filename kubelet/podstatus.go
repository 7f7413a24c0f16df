package kubelet

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
	"probesim.dev/status"
)

// hostIP is the address of the simulated node.
const hostIP = "10.0.0.1"

// Reasons and messages of the condition PodReadyToStartContainers (pkg/kubelet/types/constants.go and
// kuberuntime/util/util.go at v1.37.0).
const (
	sandboxNotReady  = "PodSandboxNotReady"
	noSandboxMessage = "no pod sandbox exists"
	notReadyMessage  = "pod sandbox is not ready"
)

// generateAPIPodStatus computes the status of a pod from the runtime's, the one before and the probe
// results. terminal says that none of its containers will run again
// (pkg/kubelet/kubelet_pods.go at v1.37.0), and says what it comes from.
func (k *Kubelet) generateAPIPodStatus(p *sim.Proc, u podUpdate, s *podStatus, terminal bool) (*v1.PodStatus, int64) {
	old, ok := k.status.GetPodStatus(u.pod.UID)
	if !ok {
		old = &u.pod.Status
	}
	api := &v1.PodStatus{HostIP: hostIP, HostIPs: []v1.HostIP{{IP: hostIP}}, QOSClass: u.pod.Status.QOSClass}
	for _, ip := range s.ips {
		api.PodIP = s.ips[0]
		api.PodIPs = append(api.PodIPs, v1.PodIP{IP: ip})
	}
	if u.pod.Spec.HostNetwork && api.PodIP == "" {
		api.PodIP, api.PodIPs = hostIP, []v1.PodIP{{IP: hostIP}}
	}
	restarting := restartsAll(u.pod, s, old)
	api.ContainerStatuses = k.containerStatuses(u.pod, s, old.ContainerStatuses, restarting)
	api.InitContainerStatuses = k.initContainerStatuses(u.pod, s, old.InitContainerStatuses, restarting)
	api.Phase = mergePhase(phaseOf(u.pod, api, terminal, s.hasActiveRegular(u.pod)), old, u.pod)
	if api.Phase == old.Phase {
		api.Reason, api.Message = cmp.Or(old.Reason, u.pod.Status.Reason), cmp.Or(old.Message, u.pod.Status.Message)
	}
	u.cause = k.endPastDeadline(u, api)
	p.Because(u.cause, func() { k.prober.UpdatePodStatus(p, u.pod, api) })
	all := status.AllContainerStatuses(api)
	api.Conditions = slices.DeleteFunc(slices.Clone(u.pod.Status.Conditions), func(c v1.PodCondition) bool { return status.PodConditionByKubelet(c.Type) })
	if disrupted := status.FindCondition(old, v1.DisruptionTarget); disrupted != nil {
		status.SetCondition(api, *disrupted)
	}
	var kept []v1.PodCondition
	if k.profile.RestartAllContainersOnContainerExits {
		kept = old.Conditions
	}
	api.Conditions = append(api.Conditions, k.readyToStartContainers(u.pod, s), status.GeneratePodInitializedCondition(u.pod, kept, all, api.Phase))
	api.Conditions = append(api.Conditions,
		status.GeneratePodReadyCondition(u.pod, api.Conditions, all, api.Phase),
		status.GenerateContainersReadyCondition(u.pod, all, api.Phase),
		v1.PodCondition{Type: v1.PodScheduled, ObservedGeneration: u.pod.Generation, Status: v1.ConditionTrue},
	)
	if podutil.AllContainersCouldRestart(&u.pod.Spec) {
		api.Conditions = append(api.Conditions, restartCondition(u.pod, s, old, api.Phase))
	}
	cause := k.causeOfStatus(u, old, api)
	p.Preempt("pod status generated, not stored")
	return api, cause
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
