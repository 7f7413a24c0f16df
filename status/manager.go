// Package status is the kubelet's status manager: a cache of the statuses that the kubelet has computed
// for its pods, each with a version, and one process that brings the newest of them to the API server.
//
// The probe workers read this cache, not the API: a status that is not stored yet is invisible to
// them. The API sees only some versions: whatever is newest when the process gets to the pod.
//
// The rules are those of pkg/kubelet/status at v1.37.0.
package status

import (
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
)

// syncPeriod is how often all statuses are compared with the API's, and sent again if they differ.
const syncPeriod = 10 * time.Second

// API is what the manager asks of the API server. The calls wait. Pods must not be changed.
type API interface {
	// GetPod returns the pod, or false if there is none or the API server cannot be reached.
	GetPod(p *sim.Proc, namespace, name string) (*v1.Pod, bool)
	// PatchStatus changes the status of the pod from what was read and returns the pod as it is then, or false if that is
	// not done.
	PatchStatus(p *sim.Proc, namespace, name string, read, status *v1.PodStatus, cause int64) (*v1.Pod, bool)
	// DeletePod removes the pod at once. It reports false if the API server cannot be reached.
	DeletePod(p *sim.Proc, namespace, name string, cause int64) bool
}

// Pods are the pods that the kubelet should run, as it last heard of them.
type Pods interface {
	GetPodByUID(uid types.UID) (*v1.Pod, bool)
}

// Options say what a Manager works with.
type Options struct {
	Sim  *sim.Sim
	Now  func() time.Time // wall clock of the node
	API  API
	Pods Pods
	// CouldHaveRunningContainers reports whether a container of the pod may be running; until none
	// can, the API does not see a terminal phase.
	CouldHaveRunningContainers func(uid types.UID) bool
}

// Stored is a status in the cache.
type Stored struct {
	Status   *v1.PodStatus // never changed once stored
	Replaced bool          // there is a newer one, or none any more
}

// versioned is a status and what is known of it.
type versioned struct {
	Stored
	version   uint64
	namespace string
	name      string
	finished  bool // SyncTerminatedPod has completed
	cause     int64
	readyOf   bool // cause is that of a change of Ready which the API had not seen
	sent      bool // the API has seen it or is about to
	// reconciled is the API's pod that was last found to have this status.
	reconciled *v1.Pod
}

// Manager is the status manager.
type Manager struct {
	o           Options
	statuses    map[types.UID]*versioned
	order       []types.UID // of statuses, oldest first
	changed     []types.UID // whose newest version has not been synced, oldest change first
	signal      *sim.Chan[struct{}]
	apiVersions map[types.UID]uint64
}

// NewManager returns an empty manager; Start starts its process.
func NewManager(o Options) *Manager {
	return &Manager{
		o:           o,
		statuses:    map[types.UID]*versioned{},
		signal:      sim.NewChan[struct{}](o.Sim, "status signal", 1),
		apiVersions: map[types.UID]uint64{},
	}
}

// GetPodStatus returns the cached status of a pod, which must not be changed.
func (m *Manager) GetPodStatus(uid types.UID) (*v1.PodStatus, bool) {
	if s, ok := m.statuses[uid]; ok {
		return s.Status, true
	}
	return nil, false
}

// Stored returns the cached status of a pod to who looks at it often: as long as it is not replaced, another call
// would return the same.
func (m *Manager) Stored(uid types.UID) (*Stored, bool) {
	if s, ok := m.statuses[uid]; ok {
		return &s.Stored, true
	}
	return nil, false
}

// SetPodStatus stores a status that was computed for the pod, and takes it over. A pod that is being
// deleted is brought to the API even if nothing changed.
func (m *Manager) SetPodStatus(pod *v1.Pod, status *v1.PodStatus, cause int64) {
	status.ObservedGeneration = pod.Generation
	m.update(pod, status, pod.DeletionTimestamp != nil, false, cause)
}

// SetContainerReadiness sets Ready of a container, and the conditions that follow from it. It does
// nothing for a container that the cached status does not show.
func (m *Manager) SetContainerReadiness(uid types.UID, containerID string, ready bool, cause int64) {
	pod, status, c := m.copyForContainer(uid, containerID)
	if c == nil || c.Ready == ready {
		return
	}
	c.Ready = ready
	all := AllContainers(status)
	SetCondition(status, Ready(pod, all, status.Phase, status.Conditions))
	SetCondition(status, ContainersReady(pod, all, status.Phase))
	m.update(pod, status, false, false, cause)
}

// SetContainerStartup sets Started of a container and nothing else: a pod that was ready stays so
// until its next sync.
func (m *Manager) SetContainerStartup(uid types.UID, containerID string, started bool, cause int64) {
	pod, status, c := m.copyForContainer(uid, containerID)
	if c == nil || c.Started != nil && *c.Started == started {
		return
	}
	c.Started = &started
	m.update(pod, status, false, false, cause)
}

// copyForContainer returns a copy of the pod's status and the container in it, nil if it is not there.
func (m *Manager) copyForContainer(uid types.UID, containerID string) (*v1.Pod, *v1.PodStatus, *v1.ContainerStatus) {
	pod, ok := m.o.Pods.GetPodByUID(uid)
	cached, known := m.statuses[uid]
	if !ok || !known {
		return nil, nil, nil
	}
	has := func(c v1.ContainerStatus) bool { return c.ContainerID == containerID }
	regular, init := slices.IndexFunc(cached.Status.ContainerStatuses, has), slices.IndexFunc(cached.Status.InitContainerStatuses, has)
	if regular < 0 && init < 0 {
		return nil, nil, nil
	}
	status := cached.Status.DeepCopy()
	if regular < 0 {
		return pod, status, &status.InitContainerStatuses[init]
	}
	return pod, status, &status.ContainerStatuses[regular]
}

// RemoveOrphanedStatuses forgets the statuses of pods that are not known.
func (m *Manager) RemoveOrphanedStatuses(known func(types.UID) bool) {
	for i := len(m.order) - 1; i >= 0; i-- {
		if !known(m.order[i]) {
			m.forget(m.order[i])
		}
	}
}

func (m *Manager) forget(uid types.UID) {
	if s, ok := m.statuses[uid]; ok {
		s.Replaced = true
	}
	delete(m.statuses, uid)
	m.order = slices.DeleteFunc(m.order, func(u types.UID) bool { return u == uid })
}

// update stores a status under the next version and signals the process, unless it equals the stored
// one and force is not set, or has a container leave its end where that cannot be.
func (m *Manager) update(pod *v1.Pod, status *v1.PodStatus, force, finished bool, cause int64) {
	cached, isCached := m.statuses[pod.UID]
	old := &pod.Status
	if isCached {
		old = cached.Status
		finished = finished || cached.finished
	}
	if illegalTransition(pod, old, status) {
		return
	}
	m.stamp(status, old)
	normalize(status)
	if isCached && !force && equalByKubelet(cached.Status, status) {
		return
	}
	next := &versioned{Stored: Stored{Status: status}, version: 1, namespace: pod.Namespace, name: pod.Name, finished: finished, cause: cause}
	if isCached {
		next.version = cached.version + 1
		next.keepCause(cached)
		cached.Replaced = true
	} else {
		m.order = append(m.order, pod.UID)
	}
	m.statuses[pod.UID] = next
	if !slices.Contains(m.changed, pod.UID) {
		m.changed = append(m.changed, pod.UID)
	}
	m.signal.TrySend(struct{}{})
}

// keepCause has a status go back to what changed Ready, where that is in a version before it that the API does not see.
func (s *versioned) keepCause(before *versioned) {
	switch {
	case isTrue(FindCondition(s.Status, v1.PodReady)) != isTrue(FindCondition(before.Status, v1.PodReady)):
		s.readyOf = true
	case before.readyOf && !before.sent:
		s.readyOf, s.cause = true, before.cause
	}
}

// stamp sets the times that say since when: of a condition as long as its status is the same, and of
// the pod's start once and for all.
func (m *Manager) stamp(status, old *v1.PodStatus) {
	now := metav1.NewTime(m.o.Now())
	for i := range status.Conditions {
		c := &status.Conditions[i]
		before := FindCondition(old, c.Type)
		if before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		} else {
			c.LastTransitionTime = now
		}
	}
	switch {
	case old.StartTime != nil:
		status.StartTime = old.StartTime
	case status.StartTime == nil:
		status.StartTime = &now
	}
	status.ObservedGeneration = max(status.ObservedGeneration, old.ObservedGeneration)
}

// equalByKubelet compares statuses without the conditions of others, and without the times and generations of the
// kubelet's own.
func equalByKubelet(a, b *v1.PodStatus) bool {
	if countOwn(a.Conditions) != countOwn(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		x := &a.Conditions[i]
		if !ConditionByKubelet(x.Type) {
			continue
		}
		if y := FindCondition(b, x.Type); y == nil || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message {
			return false
		}
	}
	c := *a
	c.Conditions = b.Conditions
	return reflect.DeepEqual(&c, b)
}

func countOwn(conditions []v1.PodCondition) int {
	n := 0
	for i := range conditions {
		if ConditionByKubelet(conditions[i].Type) {
			n++
		}
	}
	return n
}
