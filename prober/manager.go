// Package prober probes containers as the kubelet does: a worker for each probe of each container, which
// ticks from the pod's first sync on, looks up the container in the status manager, probes it if it is due,
// and stores the verdict once a threshold is reached; and a manager that makes and stops the workers
// and decides from their results which containers count as started and ready.
//
// The rules are those of pkg/kubelet/prober at v1.37.0; where versions differ, a profile decides.
package prober

import (
	"cmp"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// StatusGetter has the statuses that the workers go by.
type StatusGetter interface {
	Stored(uid types.UID) (*status.Stored, bool)
}

// Options say what a Manager works with.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Now     func() time.Time // wall clock of the node

	Status   StatusGetter
	Runner   CommandRunner
	Network  Network
	Events   EventRecorder
	Results  Results
	Instance func(containerID string) int   // which instance a container is
	Step     func(containerID string) int64 // step of the record of what became of a container last, or of the kubelet's start
}

// Results are the result caches of the three probe types.
type Results struct{ Liveness, Readiness, Startup *results.Manager }

// Manager makes and stops the probe workers of pods.
type Manager struct {
	sim       *sim.Sim
	trace     *trace.Recorder
	profile   profile.Profile
	now       func() time.Time
	status    StatusGetter
	runner    CommandRunner
	network   Network
	events    EventRecorder
	results   Results
	instance  func(containerID string) int
	step      func(containerID string) int64
	workers   map[key]*worker
	pods      map[types.UID]int // how many workers a pod has
	start     time.Duration     // virtual time at which the kubelet started
	startWall time.Time
}

type key struct {
	podUID    types.UID
	container string
	probeType trace.Probe
}

// NewManager returns a manager without workers, of a kubelet that starts now.
func NewManager(o Options) *Manager {
	return &Manager{
		sim: o.Sim, trace: o.Trace, profile: o.Profile, now: o.Now,
		status: o.Status, runner: o.Runner, network: o.Network, events: o.Events, results: o.Results, instance: o.Instance, step: o.Step,
		workers: map[key]*worker{}, pods: map[types.UID]int{}, start: o.Sim.Now(), startWall: o.Now(),
	}
}

// AddPod starts a worker for each probe of the pod that has none: startup, readiness, liveness, of regular
// containers and then of sidecars. Finding one that exists, it leaves the rest of the container alone, and
// before 1.37 the rest of the pod (pkg/kubelet/prober/prober_manager.go at v1.36.3 and v1.37.0).
func (m *Manager) AddPod(pod *v1.Pod) {
	for c := range probed(pod) {
		if !m.addContainer(pod, c) && !m.profile.AddPodSkipsOnlyContainer {
			return
		}
	}
}

// probed goes through the containers that may have probes: regular ones and then sidecars.
func probed(pod *v1.Pod) iter.Seq[*v1.Container] {
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

func (m *Manager) addContainer(pod *v1.Pod, c *v1.Container) bool {
	return m.addWorker(pod, c, trace.Startup, c.StartupProbe, m.results.Startup, results.Unknown) &&
		m.addWorker(pod, c, trace.Readiness, c.ReadinessProbe, m.results.Readiness, results.Failure) &&
		m.addWorker(pod, c, trace.Liveness, c.LivenessProbe, m.results.Liveness, results.Success)
}

// WorkerName returns the name of the process of a probe's worker, in a pod that is named namespace/name.
func WorkerName(probe trace.Probe, pod, container string) string {
	return string(probe) + " worker " + pod + "/" + container
}

// addWorker reports false if the worker exists already.
func (m *Manager) addWorker(pod *v1.Pod, c *v1.Container, t trace.Probe, spec *v1.Probe, r *results.Manager, initial results.Result) bool {
	if spec == nil {
		return true
	}
	w := &worker{
		manager: m, pod: pod, podUID: pod.UID, podName: pod.Namespace + "/" + pod.Name, terminating: pod.DeletionTimestamp != nil,
		container: c, name: c.Name, probeType: t, spec: *spec, results: r, initial: initial,
	}
	if _, ok := m.workers[w.key()]; ok {
		return false
	}
	name := WorkerName(t, w.podName, c.Name)
	w.stop = sim.NewChan[struct{}](m.sim, "stop of "+name, 1)
	w.manualTrigger = sim.NewChan[int64](m.sim, "manual trigger of "+name, 1)
	if spec.Exec != nil {
		w.command = expandCommand(spec.Exec.Command, c.Env)
	}
	m.workers[w.key()] = w
	m.pods[pod.UID]++
	m.sim.Go(name, w.run)
	return true
}

// remove forgets a worker that has ended.
func (m *Manager) remove(w *worker) {
	delete(m.workers, w.key())
	if m.pods[w.podUID]--; m.pods[w.podUID] == 0 {
		delete(m.pods, w.podUID)
	}
}

// StopLivenessAndStartup stops these workers of the regular containers of a pod that begins to terminate;
// those of sidecars go on. So does readiness, and a probe under way is not cut short.
func (m *Manager) StopLivenessAndStartup(pod *v1.Pod) {
	for i := range pod.Spec.Containers {
		m.stopWorkers(pod, &pod.Spec.Containers[i], trace.Liveness, trace.Startup)
	}
}

// RemovePod stops all workers of a pod.
func (m *Manager) RemovePod(pod *v1.Pod) {
	for c := range probed(pod) {
		m.stopWorkers(pod, c, trace.Readiness, trace.Liveness, trace.Startup)
	}
}

func (m *Manager) stopWorkers(pod *v1.Pod, c *v1.Container, probes ...trace.Probe) {
	for _, t := range probes {
		if w, ok := m.workers[key{pod.UID, c.Name, t}]; ok {
			w.stop.TrySend(struct{}{})
		}
	}
}

// CleanupPods stops the workers of pods for which keep is false.
func (m *Manager) CleanupPods(keep func(types.UID) bool) {
	gone := map[types.UID]bool{}
	for uid := range m.pods {
		if !keep(uid) {
			gone[uid] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	var stopped []*worker
	for k, w := range m.workers {
		if gone[k.podUID] {
			stopped = append(stopped, w)
		}
	}
	slices.SortFunc(stopped, func(a, b *worker) int {
		return cmp.Or(cmp.Compare(a.podName, b.podName), cmp.Compare(a.container.Name, b.container.Name), cmp.Compare(a.probeType, b.probeType))
	})
	for _, w := range stopped {
		w.stop.TrySend(struct{}{})
	}
}
