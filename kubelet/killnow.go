package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
)

// Of killPodNow in pkg/kubelet/pod_workers.go at v1.37.0.
const (
	minKillTimeout     = int64(10) // seconds
	killTimeoutMessage = "Container runtime did not kill the pod within specified grace period."
)

// podKill is what the kubelet itself wants of a pod that is to end.
type podKill struct {
	pod   *v1.Pod
	grace int64 // seconds
	evict bool
	mark  mark
	cause int64
}

// killPodNow has a pod end, and then, or when it takes too long, which leaves an event, calls done. The name is that of
// who kills it.
func (k *Kubelet) killPodNow(name string, kill podKill, done func(*sim.Proc)) {
	k.workers.update(podUpdate{typ: syncKill, pod: kill.pod, grace: &kill.grace, evict: kill.evict, mark: kill.mark, cause: kill.cause})
	timeout := max(kill.grace+kill.grace/2, minKillTimeout)
	k.sim.Go(name+" of pod "+podName(kill.pod), func(p *sim.Proc) {
		if w, ok := k.workers.workers[kill.pod.UID]; ok && !w.waitUntilTerminated(p, afterSeconds(p.Now(), timeout)) {
			k.podEvent(kill.pod, v1.EventTypeWarning, "ExceededGracePeriod", killTimeoutMessage, kill.cause)
		}
		done(p)
	})
}

// waitUntilTerminated waits until none of the pod's containers runs, and reports whether that was so before the deadline.
func (w *podWorker) waitUntilTerminated(p *sim.Proc, deadline virtual.Time) bool {
	if w.terminated {
		return true
	}
	w.killers = append(w.killers, p)
	p.WakeAt(deadline)
	p.Park()
	w.killers = slices.DeleteFunc(w.killers, func(k *sim.Proc) bool { return k == p })
	return w.terminated
}

// tellKillers wakes those who wait until the pod has terminated.
func (w *podWorker) tellKillers() {
	for _, p := range w.killers {
		p.Interrupt()
	}
}

// isPodInactive reports whether a pod has come to its end (isPodInactive in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) isPodInactive(pod *v1.Pod) bool {
	w, known := k.workers.workers[pod.UID]
	if known && w.terminated {
		return true
	}
	stored, _ := k.status.GetPodStatus(pod.UID)
	terminal := status.IsTerminal(pod.Status.Phase) || stored != nil && status.IsTerminal(stored.Phase)
	return terminal && (!known || !w.terminating)
}

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// setDisrupted says in the status of a pod why the kubelet ends it.
func setDisrupted(pod *v1.Pod, s *v1.PodStatus, reason, message string) {
	s.Reason, s.Message = reason, message
	status.SetCondition(s, v1.PodCondition{
		Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
		Reason: v1.PodReasonTerminationByKubelet, Message: message,
	})
}
