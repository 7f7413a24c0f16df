package prober

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// restartGracePeriod is how long before the kubelet's start a container must have started to count as
// one that ran before it (kubeletRestartGracePeriod in pkg/kubelet/prober at v1.37.0).
const restartGracePeriod = 10 * time.Second

// UpdatePodStatus sets Started and Ready of the containers in a status that is being generated, in which the
// init containers are as in the spec; a regular init container is ready once it has succeeded. Any other
// started container that is not ready has its readiness worker probe at once, before the status is
// stored: the worker may run first and still find the old one
// (pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (m *Manager) UpdatePodStatus(p *sim.Proc, pod *v1.Pod, status *v1.PodStatus, cause int64) {
	for i := range status.ContainerStatuses {
		m.updateStatus(p, pod, &status.ContainerStatuses[i], cause)
	}
	for i := range status.InitContainerStatuses {
		c := &status.InitContainerStatuses[i]
		if podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[i]) {
			m.updateStatus(p, pod, c, cause)
			continue
		}
		started := m.isStarted(pod, c)
		c.Started = &started
		c.Ready = c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	}
}

// updateStatus is about a container that is to run for good.
func (m *Manager) updateStatus(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus, cause int64) {
	started := m.isStarted(pod, c)
	c.Started = &started
	if started {
		c.Ready = m.isReady(p, pod, c, cause)
	}
}

// isStarted goes by the startup result of the container, if there is one.
func (m *Manager) isStarted(pod *v1.Pod, c *v1.ContainerStatus) bool {
	if c.State.Running == nil {
		return false
	}
	if r, ok := m.results.Startup.Get(c.ContainerID); ok {
		return r == results.Success
	}
	if !m.profile.ChangeContainerStatusOnKubeletRestart && c.Started != nil && *c.Started {
		return true
	}
	_, probed := m.workers[key{pod.UID, c.Name, trace.Startup}]
	return !probed
}

func (m *Manager) isReady(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus, cause int64) bool {
	if c.State.Running == nil {
		return false
	}
	result, known := m.results.Readiness.Get(c.ContainerID)
	if known && result == results.Success {
		return true
	}
	w, probed := m.workers[key{pod.UID, c.Name, trace.Readiness}]
	if probed && m.profile.ManualTrigger {
		m.trigger(p, w, cmp.Or(max(m.step(c.ContainerID), m.results.Startup.Cause(c.ContainerID)), cause))
	}
	if !m.profile.ChangeContainerStatusOnKubeletRestart && m.startedBeforeKubelet(c) {
		return m.isReadyAfterRestart(pod, c, known, !probed)
	}
	return !probed
}

// isReadyAfterRestart keeps what the pod was when the kubelet started until the first result.
func (m *Manager) isReadyAfterRestart(pod *v1.Pod, c *v1.ContainerStatus, known, ready bool) bool {
	if !known {
		ready = true
	}
	if spec := podutil.Find(pod, c.Name); spec != nil && spec.ReadinessProbe != nil && !isPodReady(pod) {
		return false
	}
	return ready
}

func isPodReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// startedBeforeKubelet compares the start as the status has it with the kubelet's.
func (m *Manager) startedBeforeKubelet(c *v1.ContainerStatus) bool {
	start := c.State.Running.StartedAt.Time
	return !start.IsZero() && start.Before(m.startWall.Add(-restartGracePeriod))
}

func (m *Manager) trigger(p *sim.Proc, w *worker, cause int64) {
	if m.trace.Wants(trace.ManualTrigger) {
		cause = m.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ManualTrigger, Cause: cause, Pod: w.podName, Container: w.name, Probe: w.probeType,
		})
	}
	w.manualTrigger.TrySend(cause)
	p.Preempt("readiness triggered, status not stored")
}
