package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim"
)

// What the node shutdown manager says (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
const (
	shutdownReason  = "Terminated"
	shutdownMessage = "Pod was terminated in response to imminent node shutdown."
)

// ListensForShutdown reports whether the kubelet waits for its node to be shut down: it must be configured to, and it is
// told once.
func (k *Kubelet) ListensForShutdown() bool {
	return len(k.settings.ShutdownPeriods()) > 0 && !k.shuttingDown
}

// ShutDown tells the kubelet that its node is about to be shut down: it admits no more pods, and ends those that there
// are, by their priority.
func (k *Kubelet) ShutDown(cause int64) {
	k.shuttingDown = true
	k.sim.Go("node shutdown", func(p *sim.Proc) {
		for _, g := range k.shutdownGroups() {
			if len(g.pods) > 0 {
				k.killGroup(p, g, cause)
			}
		}
	})
}

// shutdownGroup are the pods that are ended together, and the seconds that they have.
type shutdownGroup struct {
	grace int64
	pods  []*v1.Pod
}

// shutdownGroups returns the pods that are active, from the lowest priority to the highest.
func (k *Kubelet) shutdownGroups() []shutdownGroup {
	periods := k.settings.ShutdownPeriods()
	groups := make([]shutdownGroup, len(periods))
	for i, p := range periods {
		groups[i].grace = p.Seconds
	}
	for _, pod := range k.activePods() {
		g := &groups[kubeletconfig.Group(periods, priorityOf(pod))]
		g.pods = append(g.pods, pod)
	}
	return groups
}

// killGroup ends the pods of a group, each in its own grace period if that is shorter, and waits until all are gone and
// their volumes unmounted, but no longer than the grace period of the group (killPods in nodeshutdown_manager.go at
// v1.37.0).
func (k *Kubelet) killGroup(p *sim.Proc, g shutdownGroup, cause int64) {
	waiting, over := len(g.pods), false
	for _, pod := range g.pods {
		grace := g.grace
		if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
			grace = min(grace, *own)
		}
		k.killPodNow("node shutdown", podKill{pod: pod, grace: grace, mark: setShutdownStatus, cause: cause}, func(killer *sim.Proc) {
			if waiting--; waiting > 0 {
				return
			}
			for _, pod := range g.pods {
				k.volumes.waitForUnmount(killer, pod)
			}
			if !over {
				p.Interrupt()
			}
		})
	}
	p.WakeAt(afterSeconds(p.Now(), g.grace))
	p.Park()
	over = true
}

// setShutdownStatus is what the shutdown manager makes of the status of a pod that begins to terminate.
func setShutdownStatus(pod *v1.Pod, s *v1.PodStatus) {
	if s.Phase != v1.PodSucceeded {
		s.Phase = v1.PodFailed
	}
	setDisruptionTarget(pod, s, shutdownReason, shutdownMessage)
}
