package kubelet

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// createSandbox creates the sandbox of a pod, inspects it, and lets the status say so immediately.
// It returns the ID and the IP address, or an empty ID if it failed. A failure is no error if the
// pod is already terminating (SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at
// v1.37.0).
func (k *Kubelet) createSandbox(p *sim.Proc, u podUpdate, actions podActions, did *syncResult) (id, podIP string) {
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.RunPodSandbox, PodUID: string(u.pod.UID), Attempt: actions.attempt, Cause: p.Cause(),
	})
	if op.Err != nil {
		if !k.workers.workers[u.pod.UID].terminating {
			did.err = true
			k.podEvent(u.pod, v1.EventTypeWarning, "FailedCreatePodSandBox",
				fmt.Sprintf("Failed to create pod sandbox: %v", op.Err))
		}
		return "", ""
	}
	id = op.ID
	op = k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: id})
	created, err := op.Sandboxes, op.Err
	k.runtime.Release(op)
	if err != nil {
		did.err = true
		k.podEvent(u.pod, v1.EventTypeWarning, "FailedPodSandBoxStatus",
			fmt.Sprintf("Unable to get pod sandbox status: %v", err))
		return "", ""
	}
	if k.profile.PodReadyToStartAtSandbox {
		k.sim.Go("sandbox ready of pod "+podName(u.pod), func(p *sim.Proc) { k.onPodSandboxReady(p, u) })
	}
	if len(created) > 0 {
		podIP = created[0].IP
	}
	return id, probeIP(u.pod, podIP)
}
