package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim"
)

// The status of a pod that a node shutdown terminates
// (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
const (
	shutdownReason  = "Terminated"
	shutdownMessage = "Pod was terminated in response to imminent node shutdown."
)

// ListensForShutdown reports whether the kubelet would react to a shutdown of the node. Its
// configuration must enable this, and it reacts once.
func (k *Kubelet) ListensForShutdown() bool {
	return len(k.settings.ShutdownPeriods()) > 0 && !k.shuttingDown
}

// ShutDown tells the kubelet that the node is about to shut down. The kubelet rejects new pods and
// terminates the active pods by priority.
func (k *Kubelet) ShutDown() {
	k.shuttingDown = true
	k.sim.Go("node shutdown", func(p *sim.Proc) {
		for _, g := range k.shutdownGroups() {
			if len(g.pods) > 0 {
				k.killGroup(p, g)
			}
		}
	})
}

// shutdownGroup is a group of pods that a shutdown terminates together, with their grace period in
// seconds.
type shutdownGroup struct {
	grace int64
	pods  []*v1.Pod
}

// shutdownGroups returns the active pods by priority, lowest first.
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

// killGroup terminates the pods of a group, each within its own grace period if that is shorter. It
// waits until all pods have stopped and their volumes are unmounted, at most for the grace period
// of the group (killPods in pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
func (k *Kubelet) killGroup(p *sim.Proc, g shutdownGroup) {
	waiting, over := len(g.pods), false
	for _, pod := range g.pods {
		grace := g.grace
		if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
			grace = min(grace, *own)
		}
		k.killPodNow("node shutdown", podKill{pod: pod, grace: grace, mark: setShutdownStatus}, func(killer *sim.Proc) {
			if waiting--; waiting > 0 {
				return
			}
			for _, pod := range g.pods {
				k.volumes.pollForUnmount(killer, pod)
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

// setShutdownStatus sets the status of a pod that a shutdown terminates.
func setShutdownStatus(pod *v1.Pod, s *v1.PodStatus) {
	if s.Phase != v1.PodSucceeded {
		s.Phase = v1.PodFailed
	}
	setDisruptionTarget(pod, s, shutdownReason, shutdownMessage)
}
