package kubelet

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/status"
)

// The functions in this file find the step of the trace record that led to an action. A sync can
// have many triggers, so the cause of an action is the record that its decision depends on. An
// action without such a record has the cause of the sync.

// causeOfConfig returns the cause of a change of the desired pods, and stores it as the cause of
// the pod's specification. The start of a kubelet is the cause of the changes that it finds when it
// starts.
func (k *Kubelet) causeOfConfig(u configUpdate, pod *v1.Pod) int64 {
	if u.op == configAdd || u.op == configUpdated || u.op == configDelete {
		k.podManager.wanted[pod.UID] = k.wantedSince(pod)
	}
	if u.cause != 0 {
		return u.cause
	}
	return max(k.wantedSince(pod), k.started)
}

// wantedSince returns the step of the last record that changed the desired state of a pod.
func (k *Kubelet) wantedSince(pod *v1.Pod) int64 {
	if podutil.IsStatic(pod) {
		return k.disk.manifests.steps[pod.UID]
	}
	return k.api.WantedSince(pod.UID)
}

// causeOfPodKill returns the cause of the stop of all containers by a sync: that of the last
// container which the sync does not keep. Otherwise it is the given cause.
func causeOfPodKill(a podActions, otherwise int64) int64 {
	cause := otherwise
	for _, kill := range a.kill {
		cause = kill.cause
	}
	return cause
}

// causeOfLastSync returns the cause of the last sync of a pod, which is also the cause of a
// periodic sync.
func (k *Kubelet) causeOfLastSync(uid types.UID) int64 {
	if w, ok := k.workers.workers[uid]; ok && w.active != nil {
		return w.active.cause
	}
	return max(k.podManager.wanted[uid], k.started)
}

// causeOfChange returns the cause of an action for a container whose specification has changed: the
// change. It is the cause of the sync if the pod is gone meanwhile.
func (k *Kubelet) causeOfChange(uid types.UID) int64 {
	return cmp.Or(k.podManager.wanted[uid], k.sim.Cause())
}

// causeOfStart returns the cause of the start of a container: the end of the previous instance or
// of its back-off, otherwise the completion of the init container before it; for an ephemeral
// container, and otherwise, the change of the pod's specification.
func (k *Kubelet) causeOfStart(u podUpdate, c *v1.Container, s *podStatus) int64 {
	last := k.runtime.LastStep(string(u.pod.UID), c.Name)
	if podutil.Find(u.pod, c.Name) != nil && !slices.ContainsFunc(s.active(),
		func(rc fakeruntime.Container) bool { return rc.Name == c.Name }) {
		last = max(last, k.causeOfTurn(u.pod, c.Name, s))
	}
	return cmp.Or(max(last, k.reasons[containerKey{u.pod.UID, c.Name}].step), k.podManager.wanted[u.pod.UID],
		k.sim.Cause())
}

// causeOfTurn returns the cause of the first start of a container in its sandbox: the result of the
// init container before it, or the end of all containers in the previous sandbox.
func (k *Kubelet) causeOfTurn(pod *v1.Pod, name string, s *podStatus) (cause int64) {
	inits := pod.Spec.InitContainers
	i := slices.IndexFunc(inits, func(c v1.Container) bool { return c.Name == name })
	switch {
	case len(inits) == 0:
		return 0
	case i < 0:
		i = len(inits)
	case i == 0:
		for _, c := range slices.Concat(inits, pod.Spec.Containers) {
			cause = max(cause, k.runtime.LastStep(string(pod.UID), c.Name))
		}
		return cause
	}
	before := &inits[i-1]
	if rc := s.find(before.Name); rc != nil && podutil.IsRestartableInitContainer(before) &&
		before.StartupProbe != nil {
		return k.results.Startup.Cause(containerIDPrefix + rc.ID)
	}
	return k.runtime.LastStep(string(pod.UID), before.Name)
}

// causeOfRelist returns the cause of a sync that a relist triggers: the last change of one of the
// pod's containers.
func (k *Kubelet) causeOfRelist(uid types.UID) (cause int64) {
	for _, c := range k.cache.get(uid).containers {
		cause = max(cause, c.Step)
	}
	return cmp.Or(cause, k.causeOfLastSync(uid))
}

// causeOfStatus returns the cause of a status. If the condition Ready changes, it is the cause of
// the first container whose own readiness changed. Otherwise it is the given cause.
func (k *Kubelet) causeOfStatus(pod *v1.Pod, old, api *v1.PodStatus, otherwise int64) int64 {
	if isReady(old) == isReady(api) {
		return otherwise
	}
	for _, c := range status.AllContainerStatuses(api) {
		before := status.FindContainerStatus(old.ContainerStatuses, c.Name)
		if before == nil {
			before = status.FindContainerStatus(old.InitContainerStatuses, c.Name)
		}
		if c.Ready == (before != nil && before.Ready) {
			continue
		}
		if cause := k.causeOfReady(pod, &c); cause != 0 {
			return cause
		}
	}
	return otherwise
}

// causeOfReady returns the cause of the readiness of a container: its exit, otherwise a probe
// result or a change of a probe, otherwise its start or the start of the kubelet.
func (k *Kubelet) causeOfReady(pod *v1.Pod, c *v1.ContainerStatus) int64 {
	last := k.runtime.LastStep(string(pod.UID), c.Name)
	if c.State.Running == nil {
		return last
	}
	readiness, startup := k.results.Readiness.Cause(c.ContainerID), k.results.Startup.Cause(c.ContainerID)
	switch {
	case c.Started == nil || !*c.Started:
		readiness = 0
	case c.Ready:
		readiness = max(readiness, startup)
	}
	return cmp.Or(readiness, startup, max(last, k.started))
}

// isReady reports whether the pod condition Ready is true.
func isReady(s *v1.PodStatus) bool {
	c := status.FindCondition(s, v1.PodReady)
	return c != nil && c.Status == v1.ConditionTrue
}
