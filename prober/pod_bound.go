package prober

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// PodBound is what the managers whose workers live as long as their pods have in common: they
// derive Started and Ready from the results, the stored status, and whether a worker exists.
type PodBound struct {
	Options
	Start     virtual.Time // virtual time of the kubelet's start
	startWall time.Time    // wall time of the kubelet's start
	find      func(Key) *PodBoundWorker
}

// PodBoundWorker is what the workers that live as long as their pods have in common.
type PodBoundWorker struct {
	Execution
	ManualTrigger *sim.Chan[struct{}]
}

// NewPodBound returns a PodBound for a kubelet that starts now. find returns a worker that exists
// and is enabled, otherwise nil.
func NewPodBound(o Options, find func(Key) *PodBoundWorker) PodBound {
	return PodBound{Options: o, Start: o.Sim.Now(), startWall: o.Now(), find: find}
}

// NewPodBoundWorker returns the part of a worker of a container.
func NewPodBoundWorker(m *PodBound, pod *v1.Pod, c *v1.Container, probeType trace.Probe) PodBoundWorker {
	w := PodBoundWorker{Execution: NewExecution(&m.Options, pod, c, probeType)}
	w.ManualTrigger = sim.NewChan[struct{}](m.Sim, "manual trigger of "+w.ProcessName(), 1)
	return w
}

// IsSidecar reports whether the container is an init container. Validation allows probes only for
// init containers that restart, the sidecars.
func (w *PodBoundWorker) IsSidecar() bool {
	return slices.ContainsFunc(w.Pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == w.name })
}

// WillRestart reports whether a terminated container restarts, as far as a worker knows. Up to
// 1.34, a worker considers only the restart policy of the pod: with OnFailure, it outlives a
// container that exited with code 0.
func (w *PodBoundWorker) WillRestart(c *ContainerStatus) bool {
	if !w.Profile.ContainerRestartRules {
		return w.Pod.Spec.RestartPolicy != v1.RestartPolicyNever || w.IsSidecar()
	}
	return podutil.ContainerShouldRestart(w.Container, &w.Pod.Spec, c.Terminated.ExitCode) ||
		podutil.ShouldAllContainersRestart(w.Pod, c.snapshot.Status, nil)
}

// EnsureProbes does nothing: workers find new instances in the stored status.
func (m *PodBound) EnsureProbes(*sim.Proc, *v1.Pod, string, []Instance) {}

// StartProbes does nothing.
func (m *PodBound) StartProbes(*sim.Proc, *v1.Pod, *v1.Container, string, string) {}

// StopProbes does nothing: workers outlive the instances of their container.
func (m *PodBound) StopProbes(*sim.Proc, string, ...trace.Probe) {}

// restartGracePeriod is the minimum time between the start of a container and the start of the
// kubelet for the container to count as running before the kubelet (kubeletRestartGracePeriod in
// pkg/kubelet/prober/prober_manager.go at v1.37.0).
const restartGracePeriod = 10 * time.Second

// UpdatePodStatus sets Started and Ready of the containers in a status that the kubelet generates.
// The status lists the init containers in the order of the spec.
//
// A started container that is not ready gets a manual trigger of its readiness worker. The kubelet
// stores the status only afterwards, so the worker can run first and read the old status
// (pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (m *PodBound) UpdatePodStatus(p *sim.Proc, pod *v1.Pod, status *v1.PodStatus) {
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
func (m *PodBound) updateContainerStatus(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus) {
	started := m.isContainerStarted(pod, c)
	c.Started = &started
	if started {
		c.Ready = m.isContainerReady(p, pod, c)
	}
}

// isContainerStarted reports whether a container runs and its startup probe, if it has one, has
// succeeded.
func (m *PodBound) isContainerStarted(pod *v1.Pod, c *v1.ContainerStatus) bool {
	if c.State.Running == nil {
		return false
	}
	if r, ok := m.Results.Startup.Get(c.ContainerID); ok {
		return r == results.Success
	}
	if !m.Profile.ChangeContainerStatusOnKubeletRestart && c.Started != nil && *c.Started {
		return true
	}
	return m.find(Key{pod.UID, c.Name, trace.Startup}) == nil
}

// isContainerReady reports whether a started container runs and its readiness probe, if it has one,
// has succeeded. If the probe has not succeeded yet, isContainerReady triggers its worker.
func (m *PodBound) isContainerReady(p *sim.Proc, pod *v1.Pod, c *v1.ContainerStatus) bool {
	if c.State.Running == nil {
		return false
	}
	result, hasResult := m.Results.Readiness.Get(c.ContainerID)
	if hasResult && result == results.Success {
		return true
	}
	w := m.find(Key{pod.UID, c.Name, trace.Readiness})
	if w != nil && m.Profile.ManualTrigger {
		m.trigger(p, w, cmp.Or(m.causeOfEligibility(c.ContainerID), p.Cause()))
	}
	if m.Profile.ChangeContainerStatusOnKubeletRestart {
		return w == nil
	}
	if !m.inheritsProbeState(pod, c.Name, c.ContainerID) {
		spec := podutil.Find(pod, c.Name)
		return w == nil && (spec == nil || spec.ReadinessProbe == nil)
	}
	if m.StartedBeforeKubelet(c.State.Running) {
		return m.isReadyAfterKubeletRestart(pod, c, !hasResult || w == nil)
	}
	return w == nil
}

// inheritsProbeState reports whether a container may keep what a kubelet before this one knew of
// its probes: from 1.38 on only if the API shows this instance or none (canInheritProbeState in
// pkg/kubelet/prober/prober_manager.go at v1.38.0-beta.0).
func (m *PodBound) inheritsProbeState(pod *v1.Pod, name, containerID string) bool {
	known := FindContainerStatus(&pod.Status, name)
	return !m.Profile.ProbeStateOfInstance || known == nil || known.ContainerID == "" || containerID == "" ||
		known.ContainerID == containerID
}

// SetInitialResult stores the result with which the probe of a new instance begins (doProbe in
// pkg/kubelet/prober/worker.go at v1.37.0 and v1.38.0-beta.0).
//
// A container that ran before the kubelet started keeps its readiness until its first probe: an
// initial failure would make a ready container unready. The kubelet also needs a startup result to
// see that a sidecar has started before a restart of the kubelet (kubernetes/kubernetes#136910). Up
// to 1.37 it carries Started over to the next container of the same name, so a restarted sidecar
// can count as started too. The initial value then replaces this success immediately.
func (m *PodBound) SetInitialResult(p *sim.Proc, w *PodBoundWorker, c *ContainerStatus) {
	survived := c.Running != nil && m.StartedBeforeKubelet(c.Running) &&
		m.inheritsProbeState(w.Pod, w.name, c.ContainerID)
	switch {
	case m.Profile.ChangeContainerStatusOnKubeletRestart:
		survived = false
	case w.ProbeType == trace.Startup && w.IsSidecar() && c.Started && (survived || !m.Profile.ProbeStateOfInstance):
		w.SetResult(p, results.Success)
	}
	if !survived {
		w.SetResult(p, InitialValue(w.ProbeType))
	}
}

// isReadyAfterKubeletRestart keeps the readiness that the container had before the kubelet
// restarted, until its first result. A container with a readiness probe was ready only if its pod
// was (setReadyStateOnKubeletRestart in pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (m *PodBound) isReadyAfterKubeletRestart(pod *v1.Pod, c *v1.ContainerStatus, ready bool) bool {
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

// StartedBeforeKubelet reports whether a container ran before the kubelet started, on the wall
// clock.
func (m *PodBound) StartedBeforeKubelet(c *v1.ContainerStateRunning) bool {
	start := c.StartedAt.Time
	return !start.IsZero() && start.Before(m.startWall.Add(-restartGracePeriod))
}

// trigger wakes a readiness worker before its next tick. A trigger is lost if one is waiting
// already.
func (m *PodBound) trigger(p *sim.Proc, w *PodBoundWorker, cause int64) {
	if m.Trace.Wants(trace.ManualTrigger) {
		cause = m.Trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ManualTrigger, Cause: cause,
			Pod: w.Recorder.pod, Container: w.name, Instance: w.Recorder.instance, Probe: w.ProbeType,
		})
	}
	p.WithCause(cause, func() { w.ManualTrigger.TrySend(struct{}{}) })
	p.Preempt("readiness triggered, status not stored")
}
