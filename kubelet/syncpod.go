package kubelet

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
	"probesim.dev/status"
)

// syncPod brings a pod towards what is wanted: status first, computed before probe workers exist the
// first time, then the probe workers, then the containers (SyncPod in pkg/kubelet/kubelet.go at
// v1.37.0).
func (k *Kubelet) syncPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) syncResult {
	api, cause := k.generateAPIPodStatus(p, u, s, false)
	s.ips = ipsOf(api)
	terminal := status.IsTerminal(api.Phase)
	k.status.SetPodStatus(u.pod, api, cause)
	if terminal {
		w.cause = cause
		return syncResult{terminal: true}
	}
	if !k.networkReady(u.pod, u.cause) {
		return syncResult{err: true, network: true}
	}
	if !k.volumes.waitForMount(p, w, u.pod) {
		return syncResult{err: true}
	}
	k.prober.AddPod(u.pod)
	restarting := status.FindCondition(api, podutil.AllContainersRestarting)
	did := k.syncContainers(p, u, s, restarting != nil && restarting.Status == v1.ConditionTrue)
	if did.reset && !did.err {
		k.workers.update(podUpdate{typ: syncUpdate, pod: u.pod, cause: u.cause}) // they are started without delay
	}
	return did
}

func ipsOf(s *v1.PodStatus) []string {
	var ips []string
	for _, ip := range s.PodIPs {
		ips = append(ips, ip.IP)
	}
	return ips
}

// syncTerminatingPod stops what runs of a pod and stores how it ended, and reports whether it could. Readiness is probed
// until the containers are gone (SyncTerminatingPod in kubelet.go at v1.37.0).
func (k *Kubelet) syncTerminatingPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) bool {
	u.cause = w.cause
	api, cause := k.generateAPIPodStatus(p, u, s, false)
	if w.mark != nil {
		w.mark(u.pod, api)
	}
	k.status.SetPodStatus(u.pod, api, cause)
	k.prober.StopLivenessAndStartup(u.pod)
	if err := k.killPod(p, u, s.running(), u.grace); err != nil {
		k.failedToKill(u, err)
		return false
	}
	k.prober.RemovePod(u.pod)
	stopped := k.inspectNow(p, u.pod.UID)
	if stopped.err != nil {
		return false
	}
	stopped.ips = s.ips
	api, cause = k.generateAPIPodStatus(p, u, stopped, true)
	k.status.SetPodStatus(u.pod, api, cause)
	return true
}

func (k *Kubelet) failedToKill(u podUpdate, err error) {
	k.podEvent(u.pod, v1.EventTypeWarning, "FailedKillPod", fmt.Sprintf("error killing pod: %v", err), u.cause)
}

// syncTerminatedPod stores the last status of a pod that has no running container. The status manager
// may get to the pod between the two (SyncTerminatedPod in kubelet.go at v1.37.0).
func (k *Kubelet) syncTerminatedPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) {
	u.cause = cmp.Or(w.cause, u.cause)
	api, cause := k.generateAPIPodStatus(p, u, s, true)
	k.status.SetPodStatus(u.pod, api, cause)
	p.Preempt("pod status stored, not terminated")
	k.volumes.waitForUnmount(p, u.pod)
	k.volumes.forget(u.pod)
	k.status.TerminatePod(u.pod, u.cause)
}
