package preview138

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// containerBoundManager has the workers that belong to one instance of a container each (from the
// source of kubernetes/kubernetes#140704, not compared:
// pkg/kubelet/prober/container_bound_manager.go).
//
// A startup worker begins when its instance has started. Readiness and liveness workers begin when
// the startup probe has succeeded, or with the instance if it has none. The results stay until the
// instance is replaced or stopped, also when the worker has ended.
type containerBoundManager struct {
	prober.Options
	workers    map[prober.Key]*containerBoundWorker
	containers map[slot]string        // the ID of the known instance of each container
	specs      map[slot]*v1.Container // with MutableContainerProbes: each container at the last sync

	replaced int // number of workers that took over from another one

	// mu is held by one process at a time. A holder waits when it stores an initial result and the
	// channel of the results is full.
	mu *sim.Chan[struct{}]
}

type slot struct {
	podUID    types.UID
	container string
}

// target is an instance to probe.
type target struct {
	pod         *v1.Pod
	container   *v1.Container
	podIP       string
	containerID string
	age         func() time.Duration // since the start of the instance
	adopted     bool                 // the instance ran before the manager knew it
}

func (t *target) slot() slot { return slot{t.pod.UID, t.container.Name} }

func newContainerBoundManager(o prober.Options) *containerBoundManager {
	return &containerBoundManager{
		Options: o, workers: map[prober.Key]*containerBoundWorker{}, containers: map[slot]string{},
		specs: map[slot]*v1.Container{},
		mu:    sim.NewChan[struct{}](o.Sim, "probe manager", 1),
	}
}

// locked calls f while no other process changes the workers.
func (m *containerBoundManager) locked(p *sim.Proc, f func()) {
	m.mu.Send(p, struct{}{})
	f()
	m.mu.TryRecv()
}

// ReconcilePod does nothing: a worker needs an instance.
func (m *containerBoundManager) ReconcilePod(*sim.Proc, *v1.Pod) (statusChanged bool) { return false }

// IsResultCurrent reports whether an update is about the last result of an instance, if probes can
// change.
func (m *containerBoundManager) IsResultCurrent(p *sim.Proc, u results.Update, probe trace.Probe) bool {
	return m.Results.Of(probe).IsCurrent(p, u)
}

// EnsureProbes stops the workers of containers that do not run, starts those that are missing, and
// adopts instances that the manager does not know, such as those that ran before the kubelet.
func (m *containerBoundManager) EnsureProbes(p *sim.Proc, pod *v1.Pod, podIP string, running []prober.Instance) {
	m.locked(p, func() {
		for c := range prober.ProbeableContainers(pod) {
			if c.StartupProbe == nil && c.ReadinessProbe == nil && c.LivenessProbe == nil &&
				!m.Profile.MutableContainerProbes {
				continue
			}
			i := slices.IndexFunc(running, func(r prober.Instance) bool { return r.Name == c.Name })
			changes := m.changesOf(pod, c)
			if i < 0 {
				m.tell(changes, pod, c, "")
				m.forget(slot{pod.UID, c.Name})
				continue
			}
			r := running[i]
			// The runtime's time has no monotonic reading, so a step of the wall clock changes the
			// age.
			t := &target{pod: pod, container: c, podIP: podIP, containerID: r.ContainerID, age: func() time.Duration {
				return m.Now().Sub(r.StartedAt)
			}}
			m.tell(changes, pod, c, r.ContainerID)
			if m.containers[t.slot()] != r.ContainerID {
				m.adopt(t)
			} else {
				m.applyChanges(changes, t)
			}
			m.startWorkers(p, t)
		}
	})
}

// adopt takes the results of an unknown instance from the status in the API, if that is about this
// instance or names none. The sync loop gets no updates of these results.
func (m *containerBoundManager) adopt(t *target) {
	t.adopted = true
	var reported v1.ContainerStatus
	if c := prober.FindContainerStatus(&t.pod.Status, t.container.Name); c != nil && (c.ContainerID == "" ||
		c.ContainerID == t.containerID) {
		reported = *c
	}
	was := map[trace.Probe]bool{trace.Startup: reported.Started != nil && *reported.Started,
		trace.Readiness: reported.Ready, trace.Liveness: true}
	for _, probe := range allProbes {
		if prober.ProbeOf(t.container, probe) == nil {
			continue
		}
		seed := prober.InitialValue(probe)
		if was[probe] {
			seed = results.Success
		}
		m.Results.Of(probe).Seed(t.containerID, seed)
	}
}

// allProbes is the order in which the workers of a container are stopped.
var allProbes = []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup}

// StartProbes starts the workers of an instance, whose age counts from now.
func (m *containerBoundManager) StartProbes(p *sim.Proc, pod *v1.Pod, c *v1.Container, podIP, containerID string) {
	start := p.Now()
	age := func() time.Duration { return m.Sim.Now().Sub(start) }
	m.locked(p, func() {
		m.note(pod, c)
		m.startWorkers(p, &target{pod: pod, container: c, podIP: podIP, containerID: containerID, age: age})
	})
}

// startWorkers starts the workers that an instance needs now and does not have: first the startup
// worker alone.
func (m *containerBoundManager) startWorkers(p *sim.Proc, t *target) {
	if id, known := m.containers[t.slot()]; known && id != t.containerID {
		m.removeResults(id)
	}
	for _, probe := range allProbes {
		if w, ok := m.workers[t.key(probe)]; ok && w.ContainerID != t.containerID {
			m.stopWorker(w)
		}
	}
	m.containers[t.slot()] = t.containerID
	if r, ok := m.Results.Startup.Get(t.containerID); t.container.StartupProbe != nil && (!ok || r != results.Success) {
		m.startWorker(p, trace.Startup, t)
		return
	}
	m.startWorker(p, trace.Readiness, t)
	m.startWorker(p, trace.Liveness, t)
}

func (t *target) key(probe trace.Probe) prober.Key {
	return prober.Key{PodUID: t.pod.UID, Container: t.container.Name, ProbeType: probe}
}

// startWorker starts a worker, unless the container does not have the probe, the worker exists, or
// the probe has failed for good.
func (m *containerBoundManager) startWorker(p *sim.Proc, probe trace.Probe, t *target) {
	if prober.ProbeOf(t.container, probe) == nil || m.workers[t.key(probe)] != nil {
		return
	}
	r, known := m.Results.Of(probe).Get(t.containerID)
	if known && r == results.Failure && probe != trace.Readiness {
		return // the container is about to be killed
	}
	w := newContainerBoundWorker(m, probe, *t)
	if !known {
		w.SetResult(p, prober.InitialValue(probe))
	}
	m.workers[w.Key()] = w
	w.proc = m.Sim.Go(w.processName(), w.run)
}

// onStartupSucceeded starts the readiness and liveness workers of an instance, unless its startup
// worker has been stopped.
func (m *containerBoundManager) onStartupSucceeded(p *sim.Proc, w *containerBoundWorker) {
	m.locked(p, func() {
		if m.workers[w.Key()] == w {
			m.startWorker(p, trace.Readiness, &w.target)
			m.startWorker(p, trace.Liveness, &w.target)
		}
	})
}

// StopProbes stops workers of an instance. If it stops all, it also removes the results, which
// otherwise stay.
func (m *containerBoundManager) StopProbes(p *sim.Proc, containerID string, probes ...trace.Probe) {
	m.locked(p, func() {
		m.stopWorkers(func(w *containerBoundWorker) bool {
			return w.ContainerID == containerID && slices.Contains(probes, w.ProbeType)
		})
		if len(probes) == len(allProbes) {
			m.forgetContainers(func(_ slot, id string) bool { return id == containerID })
			m.removeResults(containerID)
		}
	})
}

// StopLivenessAndStartup stops the liveness and startup workers of a pod, those of sidecars too.
func (m *containerBoundManager) StopLivenessAndStartup(p *sim.Proc, pod *v1.Pod) {
	m.locked(p, func() {
		m.stopWorkers(func(w *containerBoundWorker) bool {
			return w.Pod.UID == pod.UID && w.ProbeType != trace.Readiness
		})
	})
}

// RemovePod stops all workers of a pod and removes its results.
func (m *containerBoundManager) RemovePod(p *sim.Proc, pod *v1.Pod) {
	m.CleanupPods(p, func(uid types.UID) bool { return uid != pod.UID })
}

// CleanupPods stops all workers of other pods and removes their results.
func (m *containerBoundManager) CleanupPods(p *sim.Proc, keep func(types.UID) bool) {
	m.locked(p, func() {
		m.stopWorkers(func(w *containerBoundWorker) bool { return !keep(w.Pod.UID) })
		m.forgetContainers(func(s slot, _ string) bool { return !keep(s.podUID) })
		maps.DeleteFunc(m.specs, func(s slot, _ *v1.Container) bool { return !keep(s.podUID) })
	})
}

// Keeps reports whether CleanupPods would change nothing and would not wait for another process.
func (m *containerBoundManager) Keeps(keep func(types.UID) bool) bool {
	for s := range m.containers {
		if !keep(s.podUID) {
			return false
		}
	}
	for k := range m.workers {
		if !keep(k.PodUID) {
			return false
		}
	}
	return m.mu.Len() == 0
}

// stopWorkers stops the workers for which match returns true.
func (m *containerBoundManager) stopWorkers(match func(*containerBoundWorker) bool) {
	var stopped []*containerBoundWorker
	for _, w := range m.workers {
		if match(w) {
			stopped = append(stopped, w)
		}
	}
	slices.SortFunc(stopped, func(v, w *containerBoundWorker) int { return v.Compare(&w.Execution) })
	for _, w := range stopped {
		m.stopWorker(w)
	}
}

func (m *containerBoundManager) stopWorker(w *containerBoundWorker) {
	w.stop()
	delete(m.workers, w.Key())
}

// forget stops the workers of a container, whatever their instance, and removes its results.
func (m *containerBoundManager) forget(s slot) {
	m.forgetContainers(func(other slot, _ string) bool { return other == s })
	m.stopWorkers(func(w *containerBoundWorker) bool { return w.target.slot() == s })
}

// forgetContainers removes the known instances for which match returns true, and their results.
func (m *containerBoundManager) forgetContainers(match func(slot, string) bool) {
	for s, id := range m.containers {
		if match(s, id) {
			m.removeResults(id)
			delete(m.containers, s)
		}
	}
}

func (m *containerBoundManager) removeResults(containerID string) {
	for _, probe := range allProbes {
		m.Results.Of(probe).Remove(containerID)
	}
}

// UpdatePodStatus sets Started and Ready from the results alone. It triggers no probes.
func (m *containerBoundManager) UpdatePodStatus(_ *sim.Proc, pod *v1.Pod, status *v1.PodStatus) {
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		m.updateContainerStatus(c, podutil.Find(pod, c.Name))
	}
	for i := range status.InitContainerStatuses {
		c, spec := &status.InitContainerStatuses[i], &pod.Spec.InitContainers[i]
		m.updateContainerStatus(c, spec)
		if !podutil.IsRestartableInitContainer(spec) {
			c.Ready = c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		}
	}
}

// updateContainerStatus sets Started and Ready of a container. A container without a startup probe
// is started while it runs, and a started one without a readiness probe is ready.
func (m *containerBoundManager) updateContainerStatus(c *v1.ContainerStatus, spec *v1.Container) {
	succeeded := func(probe trace.Probe) bool {
		r, ok := m.Results.Of(probe).Get(c.ContainerID)
		return spec == nil || prober.ProbeOf(spec, probe) == nil || ok && r == results.Success
	}
	started := c.State.Running != nil && succeeded(trace.Startup)
	c.Started, c.Ready = &started, started && succeeded(trace.Readiness)
}
