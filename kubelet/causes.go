package kubelet

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/status"
)

// The functions in this file find the step of the trace record that led to an action. A sync can have many triggers, so
// the cause of an action is the record that its decision depends on. An action without such a record has the cause of
// the sync.

// causeOfConfig says why the wanted pods change, and remembers why this one is wanted as it is. What a kubelet finds when
// it starts, it finds because of that.
func (k *Kubelet) causeOfConfig(u configUpdate, pod *v1.Pod) int64 {
	if u.op == configAdd || u.op == configUpdated || u.op == configDelete {
		k.podManager.wanted[pod.UID] = k.api.WantedSince(pod.UID)
	}
	if u.cause != 0 {
		return u.cause
	}
	return max(k.api.WantedSince(pod.UID), k.started)
}

// causeOfLastSync says why a pod was synced last: if nothing else happens it is synced again because of that.
func (k *Kubelet) causeOfLastSync(uid types.UID) int64 {
	if w, ok := k.workers.workers[uid]; ok && w.active != nil {
		return w.active.cause
	}
	return max(k.podManager.wanted[uid], k.started)
}

// causeOfStart says why a container is started now: what ended the one before it, or had it wait, or else what it waited
// for in the order of the init containers, or else what the pod is there for.
func (k *Kubelet) causeOfStart(u podUpdate, c *v1.Container, s *podStatus) int64 {
	last := k.runtime.LastStep(string(u.pod.UID), c.Name)
	if !slices.ContainsFunc(s.active(), func(rc fakeruntime.Container) bool { return rc.Name == c.Name }) {
		last = max(last, k.causeOfTurn(u.pod, c.Name, s))
	}
	return cmp.Or(max(last, k.reasons[containerKey{u.pod.UID, c.Name}].step), k.podManager.wanted[u.pod.UID], u.cause)
}

// causeOfTurn says why the turn of a container has come that has not been started in its sandbox: what became of the
// init container before it, or of all that ran in the sandbox before.
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
	if rc := s.find(before.Name); rc != nil && podutil.IsRestartableInitContainer(before) && before.StartupProbe != nil {
		return k.results.Startup.Cause(containerIDPrefix + rc.ID)
	}
	return k.runtime.LastStep(string(pod.UID), before.Name)
}

// causeOfRelist says why a pod is synced of which a relist has seen a change: what became last of one of its containers.
func (k *Kubelet) causeOfRelist(uid types.UID) (cause int64) {
	for _, c := range k.cache.get(uid).containers {
		cause = max(cause, c.Step)
	}
	return cmp.Or(cause, k.causeOfLastSync(uid))
}

// causeOfStatus says what a status comes from that is about to be stored: if Ready changes, what became of the first
// container whose own Ready does.
func (k *Kubelet) causeOfStatus(u podUpdate, old, api *v1.PodStatus) int64 {
	if isReady(old) == isReady(api) {
		return u.cause
	}
	for _, c := range status.AllContainerStatuses(api) {
		before := status.FindContainerStatus(old.ContainerStatuses, c.Name)
		if before == nil {
			before = status.FindContainerStatus(old.InitContainerStatuses, c.Name)
		}
		if c.Ready == (before != nil && before.Ready) {
			continue
		}
		if cause := k.causeOfReady(u.pod, &c); cause != 0 {
			return cause
		}
	}
	return u.cause
}

// causeOfReady says what Ready of a container comes from: the end of the container, or a probe result, or else its start
// or that of the kubelet.
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

func isReady(s *v1.PodStatus) bool {
	c := status.FindCondition(s, v1.PodReady)
	return c != nil && c.Status == v1.ConditionTrue
}
