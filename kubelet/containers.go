package kubelet

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// killReason says why a container is stopped, as ContainerStopping records do.
type killReason string

const (
	killDeleted       killReason = "Deleted"
	killStopped       killReason = "Stopped" // the pod has come to its end, or its sandbox has
	killLivenessProbe killReason = "LivenessProbe"
	killStartupProbe  killReason = "StartupProbe"
	killImageChanged  killReason = "ImageChanged"
	killEvicted       killReason = "Evicted"
	killPostStart     killReason = "FailedPostStartHook"
	killRestartAll    killReason = "RestartAllContainers"
)

// containerKill is a running container that is not to be kept.
type containerKill struct {
	container fakeruntime.Container
	reason    killReason
	message   string
	cause     int64
}

// killForImage is the end of a container that is to have another image; what is what events call it.
func (k *Kubelet) killForImage(rc *fakeruntime.Container, what string) containerKill {
	return containerKill{*rc, killImageChanged, what + " " + rc.Name + " definition changed", k.podManager.wanted[types.UID(rc.PodUID)]}
}

// policyOf returns the restart policy of a regular container: its own, else the pod's.
func policyOf(pod *v1.Pod, c *v1.Container) v1.ContainerRestartPolicy {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy
	}
	return v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
}

// killForProbe is the end of a container whose probe has failed for good; what is what events call it.
func (k *Kubelet) killForProbe(rc *fakeruntime.Container, what string, reason killReason) containerKill {
	probe, from := "liveness", k.results.Liveness
	if reason == killStartupProbe {
		probe, from = "startup", k.results.Startup
	}
	return containerKill{*rc, reason, what + " " + rc.Name + " failed " + probe + " probe", from.Cause(containerIDPrefix + rc.ID)}
}

// podActions is what a sync has to do about the containers of a pod.
type podActions struct {
	killPod       bool
	createSandbox bool
	sandboxID     string
	attempt       int
	startInit     []*v1.Container
	start         []*v1.Container
	kill          []containerKill
	reset         []fakeruntime.Container // to be killed if they run, and removed
}

// syncContainers does what is to be done about a pod's sandbox and containers, as the status that the sync
// began with shows them: a container that it kills it starts again without having seen it dead
// (SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) syncContainers(p *sim.Proc, u podUpdate, s *podStatus, restartAll bool) syncResult {
	actions := k.computePodActions(u.pod, s, restartAll)
	did := syncResult{
		relist: actions.killPod || len(actions.kill)+len(actions.reset)+len(actions.startInit)+len(actions.start) > 0,
		reset:  len(actions.reset) > 0,
	}
	if actions.createSandbox && actions.sandboxID != "" {
		k.podEvent(u.pod, v1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", u.cause)
	}
	if actions.killPod {
		if k.killPod(p, u, s.running(), nil) != nil {
			return syncResult{err: true}
		}
		if actions.createSandbox {
			k.removeInitContainers(p, u.pod, s, 0)
		}
	} else {
		choose.Shuffle(k.sim, "containers to kill of pod "+podName(u.pod), actions.kill)
		for _, kill := range actions.kill {
			if k.killContainer(p, u.pod, kill, nil, nil) != nil {
				return syncResult{err: true}
			}
		}
		if !k.resetContainers(p, u, actions.reset) {
			return syncResult{err: true}
		}
	}
	k.removeInitContainers(p, u.pod, s, containersToKeep)
	if actions.createSandbox {
		actions.sandboxID = k.createSandbox(p, u, actions, &did)
	}
	if actions.sandboxID != "" {
		k.startContainers(p, u, s, actions, &did)
	}
	if did.err {
		did.relist = false
	}
	return did
}

// startContainers starts init containers and then regular ones, one after the other. After a regular init
// container that cannot be started nothing else is; a sidecar holds nobody up.
func (k *Kubelet) startContainers(p *sim.Proc, u podUpdate, s *podStatus, actions podActions, did *syncResult) {
	for _, c := range actions.startInit {
		if !k.startOrBackOff(p, u, c, s, actions.sandboxID, did) && !podutil.IsRestartableInitContainer(c) {
			return
		}
	}
	for _, c := range actions.start {
		k.startOrBackOff(p, u, c, s, actions.sandboxID, did)
	}
}

// computePodActions decides what to do (function of that name in kuberuntime_manager.go at v1.37.0). A pod whose containers
// are all to start anew only loses them; they are started by the next sync.
func (k *Kubelet) computePodActions(pod *v1.Pod, s *podStatus, restartAll bool) podActions {
	changed := sandboxChange(s) != ""
	switch {
	case restartAll && changed:
		return newSandbox(s)
	case restartAll:
		return podActions{sandboxID: s.sandboxes[0].ID, reset: containersToReset(pod, s)}
	case changed:
		return sandboxActions(pod, s)
	}
	actions := podActions{sandboxID: s.sandboxes[0].ID}
	if !k.computeInitContainerActions(pod, s, &actions) {
		return actions
	}
	keep := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rc := s.find(c.Name)
		if rc == nil || rc.State != fakeruntime.Running {
			if shouldBeRestarted(pod, c, rc) {
				actions.start = append(actions.start, c)
			}
			continue
		}
		kill, ok := k.verdict(c, rc)
		if !ok {
			keep++
			continue
		}
		// Its rules are about exit codes, and it has none. With another image it is started in any case.
		if policyOf(pod, c) != v1.ContainerRestartPolicyNever || kill.reason == killImageChanged {
			kill.message += ", will be restarted"
			actions.start = append(actions.start, c)
		}
		actions.kill = append(actions.kill, kill)
	}
	if keep == 0 && len(actions.start) == 0 {
		actions.killPod, actions.startInit = true, nil // sidecars do not keep a pod alive
	}
	return actions
}

// sandboxActions is for a pod that needs a sandbox: everything is stopped and started anew, beginning with the
// first init container, unless all of it has run and is not to run again.
func sandboxActions(pod *v1.Pod, s *podStatus) podActions {
	actions := newSandbox(s)
	if pod.Spec.RestartPolicy == v1.RestartPolicyNever && actions.attempt != 0 && len(s.containers) > 0 {
		actions.createSandbox = false
		return actions
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rc := s.find(c.Name)
		succeeded := rc != nil && rc.State == fakeruntime.Exited && rc.ExitCode == 0
		if policyOf(pod, c) != v1.ContainerRestartPolicyOnFailure || !succeeded {
			actions.start = append(actions.start, c)
		}
	}
	actions.createSandbox = len(actions.start) > 0
	if actions.createSandbox && len(pod.Spec.InitContainers) > 0 {
		actions.startInit, actions.start = []*v1.Container{&pod.Spec.InitContainers[0]}, nil
	}
	return actions
}

// newSandbox has what there is stopped, and a sandbox made.
func newSandbox(s *podStatus) podActions {
	actions := podActions{killPod: true, createSandbox: true}
	if len(s.sandboxes) > 0 {
		actions.sandboxID, actions.attempt = s.sandboxes[0].ID, s.sandboxes[0].Attempt+1
	}
	return actions
}

// verdict says whether a running regular container is to be killed: for another image, or for a probe, liveness
// first.
func (k *Kubelet) verdict(c *v1.Container, rc *fakeruntime.Container) (containerKill, bool) {
	if rc.Image != c.Image {
		return k.killForImage(rc, "Container"), true
	}
	if r, ok := k.results.Liveness.Get(containerIDPrefix + rc.ID); ok && r == results.Failure {
		return k.killForProbe(rc, "Container", killLivenessProbe), true
	}
	if r, ok := k.results.Startup.Get(containerIDPrefix + rc.ID); ok && r == results.Failure {
		return k.killForProbe(rc, "Container", killStartupProbe), true
	}
	return containerKill{}, false
}

// shouldBeRestarted reports whether a container that does not run is to be started; rc is nil if it
// never ran (ShouldContainerBeRestarted in pkg/kubelet/container/helpers.go at v1.37.0).
func shouldBeRestarted(pod *v1.Pod, c *v1.Container, rc *fakeruntime.Container) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case rc == nil || rc.State == fakeruntime.Created:
		return true
	case rc.State == fakeruntime.Running:
		return false
	}
	return podutil.ContainerShouldRestart(c, &pod.Spec, rc.ExitCode)
}

func (k *Kubelet) podEvent(pod *v1.Pod, eventType, reason, message string, cause int64) int64 {
	return k.event(pod, "", eventType, reason, message, cause)
}

// backOffMessage says why a container is not started now.
func backOffMessage(pod *v1.Pod, c *v1.Container, backOff fmt.Stringer) string {
	return fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", backOff, c.Name, formatPod(pod))
}

// formatPod names a pod as messages do (pkg/kubelet/util/format/pod.go at v1.37.0).
func formatPod(pod *v1.Pod) string { return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID) }
