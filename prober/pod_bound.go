package prober

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// podBound is what the managers whose workers live as long as their pods have in common: they derive Started and Ready from the
// results, the stored status, and whether a worker exists.
type podBound struct {
	environment
	status    StatusGetter
	start     virtual.Time // virtual time of the kubelet's start
	startWall time.Time    // wall time of the kubelet's start
	// find returns a worker that exists and is enabled, otherwise nil.
	find func(key) *podBoundWorker
}

// podBoundWorker is what the workers that live as long as their pods have in common.
type podBoundWorker struct {
	execution
	manualTrigger *sim.Chan[struct{}]
}

func newPodBound(o Options, find func(key) *podBoundWorker) podBound {
	return podBound{environment: newEnvironment(o), status: o.Status, start: o.Sim.Now(), startWall: o.Now(), find: find}
}

func newPodBoundWorker(m *podBound, pod *v1.Pod, c *v1.Container, probeType trace.Probe) podBoundWorker {
	w := podBoundWorker{execution: newExecution(&m.environment, pod, c, probeType)}
	w.manualTrigger = sim.NewChan[struct{}](m.sim, "manual trigger of "+w.processName(), 1)
	return w
}

func (w *podBoundWorker) processName() string { return WorkerName(w.probeType, w.recorder.pod, w.name) }

// isSidecar reports whether the container is an init container. Validation allows probes only for init containers that
// restart, the sidecars.
func (w *podBoundWorker) isSidecar() bool {
	return slices.ContainsFunc(w.pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == w.name })
}

// willRestart reports whether a terminated container restarts, as far as a worker knows. Up to 1.34, a worker considers
// only the restart policy of the pod: with OnFailure, it outlives a container that exited with code 0.
func (w *podBoundWorker) willRestart(c *containerStatus) bool {
	if !w.profile.ContainerRestartRules {
		return w.pod.Spec.RestartPolicy != v1.RestartPolicyNever || w.isSidecar()
	}
	return podutil.ContainerShouldRestart(w.container, &w.pod.Spec, c.terminated.ExitCode) ||
		podutil.ShouldAllContainersRestart(w.pod, c.snapshot.Status, nil)
}

// EnsureProbes does nothing: workers find new instances in the stored status.
func (m *podBound) EnsureProbes(*sim.Proc, *v1.Pod, string, []Instance) {}

// StartProbes does nothing.
func (m *podBound) StartProbes(*sim.Proc, *v1.Pod, *v1.Container, string, string) {}

// StopProbes does nothing: workers outlive the instances of their container.
func (m *podBound) StopProbes(*sim.Proc, string, ...trace.Probe) {}

// restartGracePeriod is the minimum time between the start of a container and the start of the kubelet for the container
// to count as running before the kubelet (kubeletRestartGracePeriod in pkg/kubelet/prober/prober_manager.go at v1.37.0).
const restartGracePeriod = 10 * time.Second

// UpdatePodStatus sets Started and Ready of the containers in a status that the kubelet generates. The status lists the
// init containers in the order of the spec.
//
// A started container that is not ready gets a manual trigger of its readiness worker. The kubelet stores the status only
// afterwards, so the worker can run first and read the old status
// (pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (m *podBound) UpdatePodStatus(p *sim.Proc, pod *v1.Pod, status *v1.PodStatus) {
	for i := range status.ContainerStatuses {
		m.updateContainerStatus(p, pod, &status.ContainerStatuses[i])
	}
	for i := range status.InitContainerStatuses {
		c := &status.InitContainerStatuses[i]
		if podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[i]) {
			m.updateContainerStatus(p, pod, c)
			continue
		}
		started := m.isContainerStarted(pod, c)
		c.Started = &started
		// A regular init container is ready once it has succeeded.
		c.Ready = c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	}
}

// updateContainerStatus sets Started and Ready of a regular container or a sidecar.
func (m *podBound) updateContainerStatus(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus) {
	started := m.isContainerStarted(pod, c)
	c.Started = &started
	if started {
		c.Ready = m.isContainerReady(p, pod, c)
	}
}

// isContainerStarted reports whether a container runs and its startup probe, if it has one, has succeeded.
func (m *podBound) isContainerStarted(pod *v1.Pod, c *v1.ContainerStatus) bool {
	if c.State.Running == nil {
		return false
	}
	if r, ok := m.results.Startup.Get(c.ContainerID); ok {
		return r == results.Success
	}
	if !m.profile.ChangeContainerStatusOnKubeletRestart && c.Started != nil && *c.Started {
		return true
	}
	return m.find(key{pod.UID, c.Name, trace.Startup}) == nil
}

// isContainerReady reports whether a started container runs and its readiness probe, if it has one, has succeeded. If the
// probe has not succeeded yet, isContainerReady triggers its worker.
func (m *podBound) isContainerReady(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus) bool {
	if c.State.Running == nil {
		return false
	}
	result, hasResult := m.results.Readiness.Get(c.ContainerID)
	if hasResult && result == results.Success {
		return true
	}
	w := m.find(key{pod.UID, c.Name, trace.Readiness})
	if w != nil && m.profile.ManualTrigger {
		m.trigger(p, w, cmp.Or(m.causeOfEligibility(c.ContainerID), p.Cause()))
	}
	if !m.profile.ChangeContainerStatusOnKubeletRestart && m.startedBeforeKubelet(c.State.Running) {
		return m.isReadyAfterKubeletRestart(pod, c, !hasResult || w == nil)
	}
	return w == nil
}

// isReadyAfterKubeletRestart keeps the readiness that the container had before the kubelet restarted, until its first
// result. A container with a readiness probe was ready only if its pod was (setReadyStateOnKubeletRestart in
// pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (m *podBound) isReadyAfterKubeletRestart(pod *v1.Pod, c *v1.ContainerStatus, ready bool) bool {
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

// startedBeforeKubelet reports whether a container ran before the kubelet started, on the wall clock.
func (m *podBound) startedBeforeKubelet(c *v1.ContainerStateRunning) bool {
	start := c.StartedAt.Time
	return !start.IsZero() && start.Before(m.startWall.Add(-restartGracePeriod))
}

// trigger wakes a readiness worker before its next tick. A trigger is lost if one is waiting already.
func (m *podBound) trigger(p *sim.Proc, w *podBoundWorker, cause int64) {
	if m.trace.Wants(trace.ManualTrigger) {
		cause = m.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ManualTrigger, Cause: cause,
			Pod: w.recorder.pod, Container: w.name, Instance: w.recorder.instance, Probe: w.probeType,
		})
	}
	p.WithCause(cause, func() { w.manualTrigger.TrySend(struct{}{}) })
	p.Preempt("readiness triggered, status not stored")
}
