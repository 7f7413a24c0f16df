package preview138

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// mutableManager has workers that live as long as their pods, whose probes can change (from the
// source of kubernetes/kubernetes#142096 at 7862f4b, not compared:
// pkg/kubelet/prober/prober_manager.go). The worker of a probe that is removed stays, disabled,
// until its pod is gone.
type mutableManager struct {
	prober.PodBound
	workers     map[prober.Key]*mutableWorker
	reconciled  map[types.UID]*v1.Pod // as of their last sync
	terminating map[types.UID]bool    // pods that get no more workers
	probeIDs    int64
}

// startOrder is the order in which the workers of a container are started (AddPod in
// pkg/kubelet/prober/prober_manager.go at v1.37.0).
var startOrder = []trace.Probe{trace.Startup, trace.Readiness, trace.Liveness}

func newMutableManager(o prober.Options) *mutableManager {
	m := &mutableManager{workers: map[prober.Key]*mutableWorker{}, reconciled: map[types.UID]*v1.Pod{},
		terminating: map[types.UID]bool{}}
	m.PodBound = prober.NewPodBound(o, func(k prober.Key) *prober.PodBoundWorker {
		if w, ok := m.workers[k]; ok && w.enabled {
			return &w.PodBoundWorker
		}
		return nil
	})
	return m
}

func (m *mutableManager) nextProbeID() int64 {
	m.probeIDs++
	return m.probeIDs
}

// ReconcilePod makes the workers of a pod match its probes. A pod that terminates or has terminated
// keeps the workers that it has. The probes of static pods do not change: a changed manifest makes
// another pod.
func (m *mutableManager) ReconcilePod(p *sim.Proc, pod *v1.Pod) (statusChanged bool) {
	if pod.DeletionTimestamp != nil || status.IsTerminal(pod.Status.Phase) || m.terminating[pod.UID] {
		return false
	}
	if s, ok := m.Status.Snapshot(pod.UID); ok && status.IsTerminal(s.Status.Phase) {
		return false
	}
	before := m.reconciled[pod.UID]
	m.reconciled[pod.UID] = pod
	var started []*mutableWorker
	for c := range prober.ProbeableContainers(pod) {
		for _, probe := range startOrder {
			changed := false
			switch w := m.workers[prober.Key{PodUID: pod.UID, Container: c.Name, ProbeType: probe}]; {
			case w != nil && !podutil.IsStatic(pod):
				changed = w.apply(p, pod, c)
				w.updated.TrySend(struct{}{})
			case w == nil && prober.ProbeOf(c, probe) != nil:
				w = newMutableWorker(m, pod, c, probe)
				m.workers[w.Key()] = w
				if changed = !podutil.IsStatic(pod); changed {
					w.initialize(p, before)
				}
				started = append(started, w)
			}
			statusChanged = statusChanged || changed && probe != trace.Liveness
		}
	}
	for _, w := range started {
		w.start()
	}
	return statusChanged
}

// What an update of a pod does to a probe of a container.
const (
	probeAdded   = "added"
	probeUpdated = "updated"
	probeRemoved = "removed"
)

// probeChanged publishes the event about a probe that an update of its pod has changed. The design
// says what the event tells; its words are chosen here
// (keps/sig-node/6318-mutable-container-probes/README.md in kubernetes/enhancements#6323).
func probeChanged(o *prober.Options, pod *v1.Pod, c *v1.Container, containerID string, probe trace.Probe,
	action string) {
	step := o.Events.ContainerEvent(pod, c.Name, v1.EventTypeNormal, trace.ProbeChanged,
		fmt.Sprintf("Container %s: %s probe %s", c.Name, probe, action))
	if containerID != "" {
		o.Results.Of(probe).NoteChange(containerID, step)
	}
}

// IsResultCurrent reports whether an update is about the last result of the container that the
// stored status shows.
func (m *mutableManager) IsResultCurrent(p *sim.Proc, u results.Update, probe trace.Probe) bool {
	current := m.Results.Of(probe).IsCurrent(p, u)
	s, ok := m.Status.Snapshot(u.PodUID)
	if !ok {
		return false
	}
	c := prober.FindContainerStatus(s.Status, u.Container)
	return current && c != nil && c.ContainerID == u.ContainerID
}

// StopLivenessAndStartup stops the liveness and startup workers of a pod that starts to terminate,
// those of sidecars too, and cancels their runs.
func (m *mutableManager) StopLivenessAndStartup(_ *sim.Proc, pod *v1.Pod) {
	m.stopPod(pod, trace.Startup, trace.Liveness)
}

// RemovePod stops all workers of a pod.
func (m *mutableManager) RemovePod(_ *sim.Proc, pod *v1.Pod) {
	m.stopPod(pod, startOrder...)
}

func (m *mutableManager) stopPod(pod *v1.Pod, probes ...trace.Probe) {
	m.terminating[pod.UID] = true
	for c := range prober.ProbeableContainers(pod) {
		for _, probe := range probes {
			if w, ok := m.workers[prober.Key{PodUID: pod.UID, Container: c.Name, ProbeType: probe}]; ok {
				w.stopNow()
			}
		}
	}
}

// CleanupPods stops the workers of pods for which keep returns false, and forgets such pods when
// they have no more workers.
func (m *mutableManager) CleanupPods(_ *sim.Proc, keep func(types.UID) bool) {
	active := map[types.UID]bool{}
	var stopped []*mutableWorker
	for k, w := range m.workers {
		active[k.PodUID] = true
		if !keep(k.PodUID) {
			m.terminating[k.PodUID] = true
			stopped = append(stopped, w)
		}
	}
	gone := func(uid types.UID) bool { return !keep(uid) && !active[uid] }
	maps.DeleteFunc(m.terminating, func(uid types.UID, _ bool) bool { return gone(uid) })
	maps.DeleteFunc(m.reconciled, func(uid types.UID, _ *v1.Pod) bool { return gone(uid) })
	slices.SortFunc(stopped, func(v, w *mutableWorker) int { return v.Compare(&w.Execution) })
	for _, w := range stopped {
		w.stopNow()
	}
}

// Keeps reports whether keep returns true for all pods that the manager knows, so that CleanupPods
// would do nothing.
func (m *mutableManager) Keeps(keep func(types.UID) bool) bool {
	for k := range m.workers {
		if !keep(k.PodUID) {
			return false
		}
	}
	for uid := range m.reconciled {
		if !keep(uid) {
			return false
		}
	}
	return true
}

// String lists the workers.
func (m *mutableManager) String() string {
	var list []string
	for _, k := range slices.SortedFunc(maps.Keys(m.workers), func(a, b prober.Key) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.ProbeType, b.ProbeType))
	}) {
		state := map[bool]string{false: " (disabled)"}[m.workers[k].enabled]
		list = append(list, k.Container+" "+string(k.ProbeType)+state)
	}
	return strings.Join(list, ", ")
}

// removeWorker forgets a worker that has ended.
func (m *mutableManager) removeWorker(w *mutableWorker) {
	if m.workers[w.Key()] == w {
		delete(m.workers, w.Key())
	}
}
