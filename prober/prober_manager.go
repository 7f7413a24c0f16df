// Package prober probes containers as the kubelet does.
//
// A worker runs one probe of one container. It wakes up once per period. The periods count from the
// first sync of the pod, whenever the container starts. At each tick, the worker reads the
// container's status from the status manager, decides whether to probe, runs the probe, and stores
// a result once the number of equal runs in a row reaches a threshold.
//
// A result (package results) is the kubelet's opinion of a container after several runs. A changed
// result goes to the sync loop, which updates the pod's status or kills the container.
//
// A manual trigger wakes a readiness worker between two ticks. The kubelet sends one whenever it
// generates the status of a started container that is not ready. A container that has just started
// thus need not wait for the next tick.
//
// The Manager creates and stops workers, and derives from their results which containers are
// started and ready.
//
// The rules are those of pkg/kubelet/prober and pkg/probe at v1.37.0. Where versions differ, a
// profile decides.
package prober

import (
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Options are the dependencies of a Manager. All fields are required.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Now     func() time.Time // wall clock of the node

	Status  StatusGetter
	Runner  CommandRunner
	Network Network
	Events  EventRecorder
	Results Results

	// Instance returns the instance of a container: 0 for the first run, 1 after the first restart,
	// and so on.
	Instance func(containerID string) int
	// Step returns the step of the trace record of the container's last change, or of the kubelet's
	// start if that is later.
	Step func(containerID string) int64
}

// Results are the results managers of the three probe types.
type Results struct{ Liveness, Readiness, Startup *results.Manager }

// Of returns the results manager of a probe type.
func (r *Results) Of(probeType trace.Probe) *results.Manager {
	switch probeType {
	case trace.Readiness:
		return r.Readiness
	case trace.Liveness:
		return r.Liveness
	}
	return r.Startup
}

// Manager creates and stops the probe workers of pods, and sets Started and Ready in their statuses
// (pkg/kubelet/prober/prober_manager.go at v1.37.0).
//
// The workers of a container tick as long as its pod lives, and take what they know from the stored
// status. Package preview138 has managers of another kind, whose workers belong to one instance of
// a container each, and start and stop with it. They use EnsureProbes, StartProbes and StopProbes
// in place of ReconcilePod, and each kind ignores the calls for the other.
type Manager interface {
	// ReconcilePod starts the missing workers of a pod whose volumes are mounted. With
	// MutableContainerProbes it also applies the changes of its probes, and reports whether these
	// can change its status.
	ReconcilePod(p *sim.Proc, pod *v1.Pod) (statusChanged bool)
	// IsResultCurrent reports whether the sync loop, which has received an update of a result, must
	// act on it.
	IsResultCurrent(p *sim.Proc, u results.Update, probe trace.Probe) bool
	// EnsureProbes compares the workers of a pod with its running containers in the runtime, and
	// with MutableContainerProbes with its probes. Each sync of the pod begins with it.
	EnsureProbes(p *sim.Proc, pod *v1.Pod, podIP string, running []Instance)
	// StartProbes starts the workers of an instance that has just started.
	StartProbes(p *sim.Proc, pod *v1.Pod, c *v1.Container, podIP, containerID string)
	// StopProbes stops workers of an instance that is about to be stopped or has stopped, and
	// cancels their runs.
	StopProbes(p *sim.Proc, containerID string, probes ...trace.Probe)
	// StopLivenessAndStartup stops the liveness and startup workers of a pod that starts to
	// terminate.
	StopLivenessAndStartup(p *sim.Proc, pod *v1.Pod)
	// RemovePod stops all workers of a pod.
	RemovePod(p *sim.Proc, pod *v1.Pod)
	// CleanupPods stops the workers of pods for which keep returns false.
	CleanupPods(p *sim.Proc, keep func(types.UID) bool)
	// Keeps reports whether CleanupPods would stop none and would not wait.
	Keeps(keep func(types.UID) bool) bool
	// UpdatePodStatus sets Started and Ready of the containers in a status that the kubelet
	// generates. The status lists the init containers in the order of the spec.
	UpdatePodStatus(p *sim.Proc, pod *v1.Pod, status *v1.PodStatus)
}

// Instance is a running instance of a container in the runtime.
type Instance struct {
	Name        string
	ContainerID string
	StartedAt   time.Time
}

// NewManager returns a manager without workers, for a kubelet that starts now. Its probes do not
// change, and its workers live as long as their pods.
func NewManager(o Options) Manager {
	m := &manager{workers: map[Key]*worker{}, pods: map[types.UID]int{}}
	m.PodBound = NewPodBound(o, func(k Key) *PodBoundWorker {
		if w, ok := m.workers[k]; ok {
			return &w.PodBoundWorker
		}
		return nil
	})
	return m
}

// manager has the workers that live as long as their pods (pkg/kubelet/prober/prober_manager.go at
// v1.37.0).
type manager struct {
	PodBound
	workers map[Key]*worker
	pods    map[types.UID]int // number of workers of each pod
}

// Key names a worker.
type Key struct {
	PodUID    types.UID
	Container string
	ProbeType trace.Probe
}

// ReconcilePod starts the missing workers of a pod: startup, readiness and liveness of each regular
// container, then of each sidecar. If a worker exists already, ReconcilePod skips the other probes
// of the same container. Before 1.37 it also skips the containers after it (AddPod in
// pkg/kubelet/prober/prober_manager.go at v1.36.3 and v1.37.0).
func (m *manager) ReconcilePod(_ *sim.Proc, pod *v1.Pod) (statusChanged bool) {
	for c := range ProbeableContainers(pod) {
		if !m.addContainer(pod, c) && !m.Profile.AddPodSkipsOnlyContainer {
			break
		}
	}
	return false
}

// IsResultCurrent returns true: the probes of a pod do not change.
func (m *manager) IsResultCurrent(*sim.Proc, results.Update, trace.Probe) bool { return true }

// ProbeableContainers returns the containers that can have probes: regular containers, then
// sidecars.
func ProbeableContainers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
		for i := range pod.Spec.InitContainers {
			if c := &pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(c) && !yield(c) {
				return
			}
		}
	}
}

// addContainer starts the workers of a container. It stops and returns false if it finds one that
// exists.
func (m *manager) addContainer(pod *v1.Pod, c *v1.Container) bool {
	return m.addWorker(pod, c, trace.Startup) && m.addWorker(pod, c, trace.Readiness) &&
		m.addWorker(pod, c, trace.Liveness)
}

// addWorker starts a worker if the container has the probe. It returns false if the worker exists
// already.
func (m *manager) addWorker(pod *v1.Pod, c *v1.Container, probeType trace.Probe) bool {
	if ProbeOf(c, probeType) == nil {
		return true
	}
	k := Key{pod.UID, c.Name, probeType}
	if _, ok := m.workers[k]; ok {
		return false
	}
	w := newWorker(m, pod, c, probeType)
	m.workers[k] = w
	m.pods[pod.UID]++
	m.Sim.Go(WorkerName(probeType, w.Recorder.pod, c.Name), w.run)
	return true
}

// WorkerName returns the name of a worker's process. The pod is namespace/name.
func WorkerName(probe trace.Probe, pod, container string) string {
	return string(probe) + " worker " + pod + "/" + container
}

// removeWorker forgets a worker that has ended.
func (m *manager) removeWorker(w *worker) {
	delete(m.workers, w.Key())
	if m.pods[w.podUID]--; m.pods[w.podUID] == 0 {
		delete(m.pods, w.podUID)
	}
}

// StopLivenessAndStartup stops the liveness and startup workers of a pod that starts to terminate,
// up to 1.37 only those of its regular containers. Readiness workers continue, and a running probe
// runs to its end.
func (m *manager) StopLivenessAndStartup(_ *sim.Proc, pod *v1.Pod) {
	regular := 0
	for c := range ProbeableContainers(pod) {
		if regular++; regular <= len(pod.Spec.Containers) || m.Profile.TerminationStopsSidecarProbes {
			m.stopWorkers(pod, c, trace.Liveness, trace.Startup)
		}
	}
}

// RemovePod stops all workers of a pod.
func (m *manager) RemovePod(_ *sim.Proc, pod *v1.Pod) {
	for c := range ProbeableContainers(pod) {
		m.stopWorkers(pod, c, trace.Readiness, trace.Liveness, trace.Startup)
	}
}

func (m *manager) stopWorkers(pod *v1.Pod, c *v1.Container, probes ...trace.Probe) {
	for _, t := range probes {
		if w, ok := m.workers[Key{pod.UID, c.Name, t}]; ok {
			w.stopNow()
		}
	}
}

// Keeps reports whether keep returns true for all pods with workers, so that CleanupPods would stop
// none.
func (m *manager) Keeps(keep func(types.UID) bool) bool {
	for uid := range m.pods {
		if !keep(uid) {
			return false
		}
	}
	return true
}

// CleanupPods stops the workers of pods for which keep returns false.
func (m *manager) CleanupPods(_ *sim.Proc, keep func(types.UID) bool) {
	if m.Keeps(keep) {
		return
	}
	gone := map[types.UID]bool{}
	for uid := range m.pods {
		if !keep(uid) {
			gone[uid] = true
		}
	}
	var stopped []*worker
	for k, w := range m.workers {
		if gone[k.PodUID] {
			stopped = append(stopped, w)
		}
	}
	slices.SortFunc(stopped, func(v, w *worker) int { return v.Compare(&w.Execution) })
	for _, w := range stopped {
		w.stopNow()
	}
}
