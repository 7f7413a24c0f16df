package kubelet

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
)

// minimumGracePeriod is the least number of seconds that a container gets to stop
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
const minimumGracePeriod = 2

// killPod stops all running containers at once, sidecars in their turn, waits for the last, and then stops the
// sandboxes, whatever fails (killPodWithSyncResult in kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) killPod(p *sim.Proc, u podUpdate, running runtimePod, grace *int64) error {
	var failed []error
	order := newTerminationOrder(u.pod, running.containers)
	waiting := len(running.containers)
	for _, c := range running.containers {
		kill := containerKill{container: c, reason: k.whyStopped(u.pod), message: "Stopping container " + c.Name, cause: u.cause}
		k.sim.Go("killer of "+podName(u.pod)+"/"+c.Name, func(killer *sim.Proc) {
			if err := k.killContainer(killer, u.pod, kill, grace, order); err != nil {
				failed = append(failed, failedTo("KillContainer", c.Name, "KillContainerError", err))
			}
			if waiting--; waiting == 0 {
				p.Wake()
			}
		})
	}
	if waiting > 0 {
		p.Park()
	}
	var notStopped error
	for _, s := range running.sandboxes {
		if err := k.do(p, fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: s.ID, Cause: u.cause}); err != nil {
			notStopped = failedTo("KillPodSandbox", string(u.pod.UID), "KillPodSandboxError", err)
		}
	}
	if notStopped != nil {
		failed = append(failed, notStopped)
	}
	return utilerrors.NewAggregate(failed)
}

// failedTo words what could not be done (Error of PodSyncResult in pkg/kubelet/container/sync_result.go at v1.37.0).
func failedTo(action, target, reason string, err error) error {
	return fmt.Errorf("failed to %q for %q with %s: %q", action, target, reason, err.Error())
}

// whyStopped says why the containers of a pod are stopped that is not to run any more. A pod that was deleted since its
// sync began is a deleted one too.
func (k *Kubelet) whyStopped(pod *v1.Pod) killReason {
	if now := k.source[pod.UID]; now == nil || now.DeletionTimestamp != nil {
		return killDeleted
	}
	if w, ok := k.workers.workers[pod.UID]; ok && w.evictedToo {
		return killEvicted
	}
	return killStopped
}

// killContainer runs the preStop hook of a container, waits for its turn, stops it, and waits until its process is
// gone. The whole seconds that the hook and the wait take count against its grace period, of which some is left
// in any case. Who waits for a container that could not be stopped waits in vain (killContainer in
// kuberuntime_container.go at v1.37.0).
func (k *Kubelet) killContainer(p *sim.Proc, pod *v1.Pod, kill containerKill, override *int64, order *terminationOrder) error {
	k.ContainerEvent(pod, kill.container.Name, v1.EventTypeNormal, "Killing", kill.message, kill.cause)
	grace := gracePeriod(pod, kill)
	if override != nil {
		grace = *override
	}
	grace -= k.runPreStop(p, pod, kill, grace)
	grace -= order.waitForTurn(p, kill.container.Name, grace)
	err := k.do(p, fakeruntime.Call{
		Method: fakeruntime.StopContainer, ContainerID: kill.container.ID, GraceSeconds: max(grace, minimumGracePeriod),
		StopReason: string(kill.reason), Cause: kill.cause,
	})
	if err == nil {
		order.terminated(kill.container.Name)
	}
	return err
}

// gracePeriod returns the seconds that a container gets: the deletion's, else for a probe its own, else
// the pod's (setTerminationGracePeriod in kuberuntime_container.go at v1.37.0).
func gracePeriod(pod *v1.Pod, kill containerKill) int64 {
	if pod.DeletionGracePeriodSeconds != nil {
		return *pod.DeletionGracePeriodSeconds
	}
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return minimumGracePeriod
	}
	if c := podutil.Find(pod, kill.container.Name); c != nil {
		probe := map[killReason]*v1.Probe{killLivenessProbe: c.LivenessProbe, killStartupProbe: c.StartupProbe}[kill.reason]
		if probe != nil && probe.TerminationGracePeriodSeconds != nil {
			return *probe.TerminationGracePeriodSeconds
		}
	}
	return *pod.Spec.TerminationGracePeriodSeconds
}
