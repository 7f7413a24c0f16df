// Package status is the kubelet's status manager.
//
// The kubelet computes a status for each of its pods and stores it here. Each stored status has a
// version, and one process writes the newest version of each pod to the API server.
//
// There are therefore two views of a pod. Probe workers and the kubelet read the stored status:
// they see a new version as soon as it is stored, and no state of the runtime that is not stored
// yet. Clients of the API see only the versions that were the newest when the process reached the
// pod.
//
// The rules are those of pkg/kubelet/status at v1.37.0.
package status

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// syncPeriod is the period of the full sync, which compares the status of every pod with the API.
const syncPeriod = 10 * time.Second

// Names of the process of the manager and of the channels that it waits for.
const (
	processName = "status manager"
	signalName  = "status signal"
	tickerName  = "status sync"
)

// API is the part of the API server that the manager uses. The calls wait. The manager never
// changes a pod it receives, and the API must not change one it has returned.
type API interface {
	// GetPod returns the pod. It returns false if the pod does not exist or the API server is
	// unreachable.
	GetPod(p *sim.Proc, namespace, name string) (*v1.Pod, bool)
	// PatchStatus changes the pod's status from read, the status that the manager based its change
	// on, to status. It returns the changed pod, or false on failure. The cause of the process is
	// the cause of the status.
	PatchStatus(p *sim.Proc, namespace, name string, read, status *v1.PodStatus) (*v1.Pod, bool)
	// DeletePod removes the pod immediately. It returns false if the API server is unreachable.
	DeletePod(p *sim.Proc, namespace, name string) bool
}

// Pods returns the pods that the kubelet should run, in the version that the kubelet last received.
type Pods interface {
	// GetPodByUID returns a pod. It knows no mirror pods.
	GetPodByUID(uid types.UID) (*v1.Pod, bool)
	// GetMirrorPodByPod returns the mirror pod of a static pod.
	GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool)
	// GetMirrorUID returns the UID under which the API knows a pod. It returns false for a static
	// pod without a mirror pod.
	GetMirrorUID(uid types.UID) (types.UID, bool)
	// TranslatePodUID returns the UID of the static pod for the UID of its mirror pod, and other
	// UIDs unchanged.
	TranslatePodUID(uid types.UID) types.UID
}

// Options are the dependencies of a Manager. All fields are required.
type Options struct {
	Sim  *sim.Sim
	Now  func() time.Time // wall clock of the node
	API  API
	Pods Pods
	// CouldHaveRunningContainers reports whether a container of the pod may still run. While it
	// returns true, the manager does not write a terminal phase to the API.
	CouldHaveRunningContainers func(uid types.UID) bool
	// NoObservedGeneration leaves out the generation of the pod's spec from statuses and
	// conditions: the feature gate PodObservedGenerationTracking is off.
	NoObservedGeneration bool
}

// Snapshot is a stored status. To read a status often, keep its Snapshot until Outdated is true:
// until then, Manager.Snapshot returns the same Snapshot.
type Snapshot struct {
	Status   *v1.PodStatus // never changed once stored
	Outdated bool          // a newer status is stored, or none
}

// versionedPodStatus is a stored status and its progress toward the API.
type versionedPodStatus struct {
	Snapshot
	version       uint64 // 1 for the first status of a pod
	namespace     string
	name          string
	podIsFinished bool // SyncTerminatedPod has completed
	// cause is the cause of the process that stored the status.
	cause int64
	// changesReady reports whether cause belongs to a change of the Ready condition that the API
	// has not seen.
	changesReady bool
	// sent reports whether the API has the status or a patch with it is on its way.
	sent bool
	// reconciledWith is the last pod from the API that had this status. It spares further
	// comparisons with the same pod.
	reconciledWith *v1.Pod
}

// Manager is the status manager (pkg/kubelet/status/status_manager.go at v1.37.0).
type Manager struct {
	o           Options
	podStatuses map[types.UID]*versionedPodStatus
	// order lists the keys of podStatuses, the oldest first.
	order []types.UID
	// changed lists the pods whose newest version no batch has synced, the oldest change first.
	changed []types.UID
	// podStatusChannel wakes the process up after a change.
	podStatusChannel *sim.Chan[struct{}]
	// static lists the static pods. Each new mirror pod of such a pod needs its newest version.
	static []types.UID
	// resizes are the conditions about resizes, by pod.
	resizes map[types.UID]resizeConditions
	// apiStatusVersions holds the version of each pod that the API has, by the UID in the API.
	apiStatusVersions map[types.UID]uint64
}

// NewManager returns a Manager without statuses. Start starts its process.
func NewManager(o Options) *Manager {
	return &Manager{
		o:                 o,
		podStatuses:       map[types.UID]*versionedPodStatus{},
		podStatusChannel:  sim.NewChan[struct{}](o.Sim, signalName, 1),
		resizes:           map[types.UID]resizeConditions{},
		apiStatusVersions: map[types.UID]uint64{},
	}
}

// isPodStatusByKubeletEqual reports whether two statuses are equal apart from conditions that the
// kubelet neither owns nor shares with others, and apart from the times and generations of the
// conditions that count. An example of a difference is DisruptionTarget while containers of an
// evicted pod run: the API does not have it yet.
func isPodStatusByKubeletEqual(a, b *v1.PodStatus) bool {
	if countKubeletConditions(a) != countKubeletConditions(b) {
		return false
	}
	for i := range a.Conditions {
		x := &a.Conditions[i]
		if !ownedOrShared(x.Type) {
			continue
		}
		if y := FindCondition(b, x.Type); y == nil || x.Status != y.Status || x.Reason != y.Reason ||
			x.Message != y.Message {
			return false
		}
	}
	return equalApartFromConditions(a, b)
}

func countKubeletConditions(s *v1.PodStatus) int {
	n := 0
	for i := range s.Conditions {
		if ownedOrShared(s.Conditions[i].Type) {
			n++
		}
	}
	return n
}

// ownedOrShared reports whether the kubelet writes conditions of this type. It shares
// DisruptionTarget with others (PodConditionSharedByKubelet in pkg/kubelet/types/pod_status.go at
// v1.37.0).
func ownedOrShared(t v1.PodConditionType) bool {
	return PodConditionByKubelet(t) || t == v1.DisruptionTarget
}

// PodConditionByKubelet reports whether the kubelet owns conditions of this type
// (pkg/kubelet/types/pod_status.go at v1.37.0).
func PodConditionByKubelet(t v1.PodConditionType) bool {
	switch t {
	case v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers,
		podutil.AllContainersRestarting,
		v1.PodResizePending, v1.PodResizeInProgress:
		return true
	}
	return false
}

// Start starts the process that writes statuses to the API.
func (m *Manager) Start() {
	ticker := m.o.Sim.NewTicker(tickerName, syncPeriod)
	proc := m.o.Sim.Go(processName, func(p *sim.Proc) {
		cases := []sim.Case{sim.On(m.podStatusChannel, m.onChange), sim.OnTick(ticker, m.onTick)}
		p.Serve(cases...)
	})
	ticker.SkipIf(func() bool {
		if !m.o.Sim.Canonical() || !m.isSynced() { // a chooser could let others go between the tick and the process
			return false
		}
		proc.SkipTurns(1)
		return true
	})
	ticker.FastForward(sim.Idle{
		Until: func() virtual.Time {
			if !m.isSynced() {
				return virtual.Min
			}
			return virtual.Max
		},
		AnyOrder: true,
		Fire:     func(times int64, _, _ virtual.Time) { proc.SkipTurns(times) },
	})
}

// isSynced reports whether a full sync would do nothing.
func (m *Manager) isSynced() bool {
	if len(m.changed) > 0 || len(m.apiStatusVersions) > len(m.order) {
		return false
	}
	for _, uid := range m.order {
		if s := m.podStatuses[uid]; m.needsUpdate(uid, s) || m.needsReconcile(uid, s) {
			return false
		}
	}
	return true
}

func (m *Manager) onChange(p *sim.Proc, _ struct{}) {
	expected, ok := m.nextBatch(processName)
	m.o.Sim.Turn(processName, signalName)
	for ok && !m.hasChanged(expected) && p.YieldToOne() {
		// The kubelet can be interrupted between the signal and its look at the statuses. The real
		// run was.
	}
	m.syncBatch(p, false)
}

func (m *Manager) onTick(p *sim.Proc) {
	m.o.Sim.Turn(processName, tickerName)
	m.syncBatch(p, true)
}

// GetPodStatus returns the stored status of a pod, false if there is none. Do not change the
// status.
func (m *Manager) GetPodStatus(uid types.UID) (*v1.PodStatus, bool) {
	if s, ok := m.podStatuses[uid]; ok {
		return s.Status, true
	}
	return nil, false
}

// Snapshot returns the stored status of a pod, false if there is none.
func (m *Manager) Snapshot(uid types.UID) (*Snapshot, bool) {
	if s, ok := m.podStatuses[uid]; ok {
		return &s.Snapshot, true
	}
	return nil, false
}

// SetPodStatus stores a status that the kubelet has generated for a pod. The manager owns the
// status from then on. The status of a pod with a deletion timestamp is synced even if it is
// unchanged: the API may be able to delete the pod now.
func (m *Manager) SetPodStatus(pod *v1.Pod, status *v1.PodStatus) {
	status.ObservedGeneration = pod.Generation
	m.updateStatusInternal(pod, status, pod.DeletionTimestamp != nil, false)
}

// SetContainerReadiness sets Ready of a container and updates the Ready and ContainersReady
// conditions of its pod. It ignores a container that the stored status does not show.
func (m *Manager) SetContainerReadiness(uid types.UID, containerID string, ready bool) {
	pod, status, c := m.copyForContainer(uid, containerID)
	if c == nil || c.Ready == ready {
		return
	}
	c.Ready = ready
	all := AllContainerStatuses(status)
	SetCondition(status, GeneratePodReadyCondition(pod, status.Conditions, all, status.Phase))
	SetCondition(status, GenerateContainersReadyCondition(pod, all, status.Phase))
	m.updateStatusInternal(pod, status, false, false)
}

// SetContainerStartup sets only Started of a container. The conditions of its pod follow with the
// next sync. It ignores a container that the stored status does not show.
func (m *Manager) SetContainerStartup(uid types.UID, containerID string, started bool) {
	pod, status, c := m.copyForContainer(uid, containerID)
	if c == nil || c.Started != nil && *c.Started == started {
		return
	}
	c.Started = &started
	m.updateStatusInternal(pod, status, false, false)
}

// copyForContainer returns the pod, a copy of its stored status, and the container with this ID in
// the copy. The container is nil if the stored status does not show it.
func (m *Manager) copyForContainer(uid types.UID, containerID string) (*v1.Pod, *v1.PodStatus, *v1.ContainerStatus) {
	pod, ok := m.o.Pods.GetPodByUID(uid)
	cached, isCached := m.podStatuses[uid]
	if !ok || !isCached {
		return nil, nil, nil
	}
	hasID := func(c v1.ContainerStatus) bool { return c.ContainerID == containerID }
	regular, init := slices.IndexFunc(cached.Status.ContainerStatuses, hasID),
		slices.IndexFunc(cached.Status.InitContainerStatuses, hasID)
	if regular < 0 && init < 0 {
		return nil, nil, nil
	}
	status := cached.Status.DeepCopy()
	if regular < 0 {
		return pod, status, &status.InitContainerStatuses[init]
	}
	return pod, status, &status.ContainerStatuses[regular]
}

// TerminatePod stores the last status of a pod. It marks containers that may have run as terminated
// and sets a terminal phase. From then on the manager deletes the pod from the API if the pod has a
// deletion timestamp.
func (m *Manager) TerminatePod(pod *v1.Pod) {
	status := pod.Status.DeepCopy()
	if cached, ok := m.podStatuses[pod.UID]; ok {
		status = cached.Status.DeepCopy()
	}
	if hasPodInitialized(pod) {
		terminateContainers(status.ContainerStatuses)
	}
	terminateContainers(initializedContainers(status.InitContainerStatuses))
	if !IsTerminal(status.Phase) && !podutil.IsStatic(pod) {
		status.Phase = v1.PodFailed
	}
	m.updateStatusInternal(pod, status, true, true)
}

// terminateContainers marks containers as terminated with an unknown exit, unless they have
// terminated already.
func terminateContainers(statuses []v1.ContainerStatus) {
	for i := range statuses {
		if s := &statuses[i].State; s.Terminated == nil {
			*s = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason:  "ContainerStatusUnknown",
				Message: "The container could not be located when the pod was terminated", ExitCode: 137,
			}}
		}
	}
}

// hasPodInitialized reports whether a regular container may have run, according to the API's
// status: a regular container has left its first waiting state, or the last init container has
// succeeded or, as a sidecar, started.
func hasPodInitialized(pod *v1.Pod) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.LastTerminationState.Terminated != nil || c.State.Waiting == nil {
			return true
		}
	}
	n := len(pod.Status.InitContainerStatuses)
	if n == 0 || n > len(pod.Spec.InitContainers) {
		return false
	}
	last := &pod.Status.InitContainerStatuses[n-1]
	if podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[n-1]) {
		return last.State.Running != nil && last.Started != nil && *last.Started
	}
	return hasSucceeded(last.LastTerminationState) || hasSucceeded(last.State)
}

func hasSucceeded(s v1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 0 }

// initializedContainers returns the statuses of the init containers up to the last one that has
// left its first waiting state. The first init container is always included.
func initializedContainers(statuses []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(statuses) - 1; i > 0; i-- {
		if statuses[i].State.Waiting == nil || statuses[i].LastTerminationState.Terminated != nil {
			return statuses[:i+1]
		}
	}
	return statuses[:min(1, len(statuses))]
}

// checkContainerStateTransition reports whether a new status is legal. It is illegal if a
// terminated container that must not restart is running or waiting in it.
func checkContainerStateTransition(pod *v1.Pod, old, status *v1.PodStatus) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyAlways || podutil.AllContainersCouldRestart(&pod.Spec) ||
		checkTransitions(pod, pod.Spec.Containers, old.ContainerStatuses, status.ContainerStatuses) &&
			checkTransitions(pod, pod.Spec.InitContainers, old.InitContainerStatuses, status.InitContainerStatuses)
}

func checkTransitions(pod *v1.Pod, specs []v1.Container, old, statuses []v1.ContainerStatus) bool {
	for i := range specs {
		before, now := FindContainerStatus(old, specs[i].Name), FindContainerStatus(statuses, specs[i].Name)
		if before == nil || before.State.Terminated == nil || now == nil || now.State.Terminated != nil {
			continue
		}
		code := before.State.Terminated.ExitCode
		retried := code != 0 && pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
		if !retried && !podutil.ContainerShouldRestart(&specs[i], &pod.Spec, code) {
			return false
		}
	}
	return true
}

// updateStatusInternal stores a status under the next version and wakes the process up. It drops a
// status with an illegal container transition, and an unchanged one unless force is set.
func (m *Manager) updateStatusInternal(pod *v1.Pod, status *v1.PodStatus, force, podIsFinished bool) {
	cached, isCached := m.podStatuses[pod.UID]
	old := &pod.Status
	if isCached {
		old = cached.Status
		podIsFinished = podIsFinished || cached.podIsFinished && !podutil.IsStatic(pod)
	} else if mirror, ok := m.o.Pods.GetMirrorPodByPod(pod); ok {
		old = &mirror.Status
	}
	if !checkContainerStateTransition(pod, old, status) {
		return
	}

	m.updateLastTransitionTimes(status, old)
	switch {
	case old.StartTime != nil:
		status.StartTime = old.StartTime
	case status.StartTime == nil:
		now := metav1.NewTime(m.o.Now())
		status.StartTime = &now
	}
	status.ObservedGeneration = max(status.ObservedGeneration, old.ObservedGeneration)
	m.forgetGenerations(status)
	normalizeStatus(status)
	if isCached && !force && isPodStatusByKubeletEqual(cached.Status, status) {
		return
	}

	next := &versionedPodStatus{
		Snapshot: Snapshot{Status: status}, version: 1, namespace: pod.Namespace, name: pod.Name,
		podIsFinished: podIsFinished, cause: m.o.Sim.Cause(),
	}
	if isCached {
		next.version = cached.version + 1
		next.inheritCause(cached)
		cached.Outdated = true
	} else {
		m.order = append(m.order, pod.UID)
		if podutil.IsStatic(pod) {
			m.static = append(m.static, pod.UID)
		}
	}
	m.podStatuses[pod.UID] = next
	if !slices.Contains(m.changed, pod.UID) {
		m.changed = append(m.changed, pod.UID)
	}
	m.podStatusChannel.TrySend(struct{}{})
}

// inheritCause takes over the cause of the previous version if that version changed the Ready
// condition and was never sent. The patch of this version then makes the change visible in the API.
func (s *versionedPodStatus) inheritCause(before *versionedPodStatus) {
	switch {
	case isTrue(FindCondition(s.Status, v1.PodReady)) != isTrue(FindCondition(before.Status, v1.PodReady)):
		s.changesReady = true
	case before.changesReady && !before.sent:
		s.changesReady, s.cause = true, before.cause
	}
}

// updateLastTransitionTimes sets the last transition time of each condition: now if its status has
// changed, otherwise the old time. A condition about a resize has its own time.
func (m *Manager) updateLastTransitionTimes(status, old *v1.PodStatus) {
	now := metav1.NewTime(m.o.Now())
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == v1.PodResizePending || c.Type == v1.PodResizeInProgress {
			continue
		}
		c.LastTransitionTime = now
		if before := FindCondition(old, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
}

func (m *Manager) deletePodStatus(uid types.UID) {
	if s, ok := m.podStatuses[uid]; ok {
		s.Outdated = true
	}
	delete(m.podStatuses, uid)
	delete(m.resizes, uid)
	m.order = slices.DeleteFunc(m.order, func(u types.UID) bool { return u == uid })
	m.static = slices.DeleteFunc(m.static, func(u types.UID) bool { return u == uid })
}

// RemoveOrphanedStatuses forgets the statuses of pods for which known returns false.
func (m *Manager) RemoveOrphanedStatuses(known func(types.UID) bool) {
	for i := len(m.order) - 1; i >= 0; i-- {
		if !known(m.order[i]) {
			m.deletePodStatus(m.order[i])
		}
	}
}

// HasOrphans reports whether RemoveOrphanedStatuses would forget a status.
func (m *Manager) HasOrphans(known func(types.UID) bool) bool {
	return slices.ContainsFunc(m.order, func(uid types.UID) bool { return !known(uid) })
}

// WaitToStore lets others go first as long as a real run shows that the next batch begins now,
// without this pod. The kubelet can be interrupted before it stores a status. A batch without the
// pod shows nothing if it would not have the new version anyway.
func (m *Manager) WaitToStore(p *sim.Proc, pod *v1.Pod) {
	next := &versionedPodStatus{version: 1}
	if s, ok := m.podStatuses[pod.UID]; ok {
		next.version = s.version + 1
	}
	if uid, ok := m.o.Pods.GetMirrorUID(pod.UID); !ok || !m.hasNewVersion(uid, next) {
		return
	}
	for {
		batch, ok := m.nextBatch(p.Name())
		if !ok || slices.Contains(batch, pod.Namespace+"/"+pod.Name) || !p.YieldToOne() {
			return
		}
	}
}

// hasChanged reports whether all of these pods are candidates for a batch.
func (m *Manager) hasChanged(pods []string) bool {
	changed := map[string]bool{}
	for _, uid := range m.candidates() {
		if s, ok := m.podStatuses[uid]; ok {
			changed[s.namespace+"/"+s.name] = true
		}
	}
	return !slices.ContainsFunc(pods, func(pod string) bool { return !changed[pod] })
}

// nextBatch returns the pods of the next batch of a real run, if it is known and the batch begins
// now, not after the next turn of the process by.
func (m *Manager) nextBatch(by string) (pods []string, ok bool) {
	return m.o.Sim.Walk("status batch", processName, by)
}

// pendingStatus is the version of a pod that was the newest when a batch started.
type pendingStatus struct {
	uid types.UID // in the source of the pod; the API can have another
	*versionedPodStatus
}

// syncBatch syncs the pods with a new version, one after the other. With all, it also syncs the
// pods that the API can delete and those whose status in the API differs.
func (m *Manager) syncBatch(p *sim.Proc, all bool) {
	candidates := m.candidates()
	if all {
		candidates = m.order
		m.removeOrphanedVersions()
	}
	var batch []pendingStatus
	for _, uid := range candidates {
		s, ok := m.podStatuses[uid]
		uidInAPI, hasMirror := m.o.Pods.GetMirrorUID(uid)
		switch {
		case !ok || !hasMirror:
			continue
		case !all:
			if !m.hasNewVersion(uidInAPI, s) {
				continue
			}
		case m.needsUpdate(uidInAPI, s):
		case m.needsReconcile(uid, s):
			// The status in the API is not the version that was written: write the version again.
			delete(m.apiStatusVersions, uidInAPI)
		default:
			continue
		}
		batch = append(batch, pendingStatus{uid, s})
	}
	m.changed = m.changed[:0]
	// The kubelet collects a batch in the random order of a map.
	choose.Guided(&m.o.Sim.Asker, "status batch", batch,
		func(s pendingStatus) string { return s.namespace + "/" + s.name })
	choose.Shuffle(m.o.Sim, "status batch", batch)
	for _, s := range batch {
		if !m.syncPod(p, s) && !slices.Contains(m.changed, s.uid) {
			m.changed = append(m.changed, s.uid)
		}
	}
}

// candidates returns the pods that can have a new version, the oldest change first. Those of static
// pods come with their mirror pods.
func (m *Manager) candidates() []types.UID {
	candidates := m.changed
	for _, uid := range m.static {
		if !slices.Contains(candidates, uid) {
			candidates = append(candidates, uid)
		}
	}
	return candidates
}

func (m *Manager) removeOrphanedVersions() {
	for uid := range m.apiStatusVersions {
		if _, ok := m.podStatuses[uid]; !ok && m.o.Pods.TranslatePodUID(uid) == uid {
			delete(m.apiStatusVersions, uid)
		}
	}
}

// syncPod writes one status to the API: GET, then PATCH if the status differs, then DELETE if the
// pod has terminated and has a deletion timestamp. It returns false if the pod does not exist or
// the API server is unreachable: the next batch then tries again. A failed DELETE waits for the
// next full sync.
func (m *Manager) syncPod(p *sim.Proc, s pendingStatus) bool {
	p.SetCause(s.cause)
	pod, ok := m.o.API.GetPod(p, s.namespace, s.name)
	if !ok {
		return false
	}
	if m.o.Pods.TranslatePodUID(pod.UID) != s.uid {
		// Another pod has taken the name.
		m.deletePodStatus(s.uid)
		return true
	}
	merged := m.mergePodStatus(pod, s.Status)
	s.sent = true
	if !isEqualInAPI(&pod.Status, merged) {
		if pod, ok = m.o.API.PatchStatus(p, s.namespace, s.name, &pod.Status, merged); !ok {
			s.sent = false
			return false
		}
	}
	m.apiStatusVersions[pod.UID] = s.version
	if canBeDeleted(pod, s.versionedPodStatus) && m.o.API.DeletePod(p, s.namespace, s.name) {
		m.deletePodStatus(s.uid)
	}
	return true
}

// isEqualInAPI reports whether a patch from one status to the other would be empty. A patch also
// sets the order of the conditions (preparePatchBytesForPodStatus in pkg/util/pod/pod.go at
// v1.37.0, and diffLists in pkg/util/strategicpatch/patch.go of k8s.io/apimachinery v0.37.0).
func isEqualInAPI(a, b *v1.PodStatus) bool {
	return slices.Equal(a.Conditions, b.Conditions) && equalApartFromConditions(a, b)
}

func (m *Manager) hasNewVersion(uid types.UID, s *versionedPodStatus) bool {
	return m.apiStatusVersions[uid] < s.version
}

// needsUpdate reports whether a full sync must sync a pod for a new version or for its deletion.
func (m *Manager) needsUpdate(uid types.UID, s *versionedPodStatus) bool {
	if m.hasNewVersion(uid, s) {
		return true
	}
	pod, ok := m.o.Pods.GetPodByUID(uid)
	return ok && canBeDeleted(pod, s)
}

// canBeDeleted reports whether the manager can delete a pod from the API: the pod has a deletion
// timestamp, the kubelet has finished it, and the API shows a terminal phase.
func canBeDeleted(pod *v1.Pod, s *versionedPodStatus) bool {
	return s.podIsFinished && pod.DeletionTimestamp != nil && IsTerminal(pod.Status.Phase) && !podutil.IsMirror(pod)
}

// needsReconcile reports whether the status in the API, as far as the kubelet knows, differs from
// the stored one.
func (m *Manager) needsReconcile(uid types.UID, s *versionedPodStatus) bool {
	pod, ok := m.o.Pods.GetPodByUID(uid)
	if ok && podutil.IsStatic(pod) {
		pod, ok = m.o.Pods.GetMirrorPodByPod(pod)
	}
	if !ok || s.reconciledWith == pod {
		return false
	}
	if !isPodStatusByKubeletEqual(&pod.Status, s.Status) { // a stored status is normalized: what equals it is too
		api := pod.Status.DeepCopy()
		normalizeStatus(api)
		if !isPodStatusByKubeletEqual(api, s.Status) {
			return true
		}
	}
	s.reconciledWith = pod
	return false
}

// normalizeStatus truncates all times to whole seconds, as the API server stores them, and sorts
// regular and ephemeral containers by name. Init containers keep the order of the spec. Probe
// workers read the truncated start of a container, so an initial delay can end up to a second
// early.
func normalizeStatus(status *v1.PodStatus) {
	if status.StartTime != nil {
		t := normalizeTimestamp(*status.StartTime)
		status.StartTime = &t
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastTransitionTime = normalizeTimestamp(c.LastTransitionTime)
		if !c.LastProbeTime.IsZero() { // only conditions about resizes have one
			c.LastProbeTime = normalizeTimestamp(c.LastProbeTime)
		}
	}
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses,
		status.EphemeralContainerStatuses} {
		for i := range statuses {
			normalizeContainerState(&statuses[i].State)
			normalizeContainerState(&statuses[i].LastTerminationState)
		}
	}
	byName := func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) }
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.EphemeralContainerStatuses} {
		if !slices.IsSortedFunc(statuses, byName) {
			slices.SortFunc(statuses, byName)
		}
	}
}

// normalizeContainerState normalizes a copy of the state, because other statuses can share the
// original.
func normalizeContainerState(s *v1.ContainerState) {
	if s.Running != nil {
		r := *s.Running
		r.StartedAt = normalizeTimestamp(r.StartedAt)
		s.Running = &r
	}
	if s.Terminated != nil {
		t := *s.Terminated
		t.StartedAt, t.FinishedAt = normalizeTimestamp(t.StartedAt), normalizeTimestamp(t.FinishedAt)
		s.Terminated = &t
	}
}

func normalizeTimestamp(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// mergePodStatus returns the status to write to the API. It keeps the conditions that the kubelet
// does not own, holds a terminal phase back while containers may run, and makes a pod with a
// terminal phase unready.
func (m *Manager) mergePodStatus(pod *v1.Pod, status *v1.PodStatus) *v1.PodStatus {
	old, merged := &pod.Status, new(*status) // shares what no one changes: the statuses of the containers
	merged.Conditions = slices.DeleteFunc(slices.Clone(old.Conditions),
		func(c v1.PodCondition) bool { return PodConditionByKubelet(c.Type) })
	terminates := !IsTerminal(old.Phase) && IsTerminal(merged.Phase)
	if terminates && m.o.CouldHaveRunningContainers(pod.UID) {
		// A controller that sees a terminal phase may start a replacement.
		merged.Phase, merged.Reason, merged.Message = old.Phase, old.Reason, old.Message
		terminates = false
	}
	for _, c := range status.Conditions {
		switch {
		case PodConditionByKubelet(c.Type):
			merged.Conditions = append(merged.Conditions, c)
		case c.Type == v1.DisruptionTarget && terminates:
			m.mergeDisruptionTarget(merged, old, c)
		}
	}
	if IsTerminal(merged.Phase) && (isTrue(FindCondition(merged, v1.PodReady)) ||
		isTrue(FindCondition(merged, v1.ContainersReady))) {
		m.setNotReady(pod, merged)
	}
	return merged
}

// mergeDisruptionTarget adds the DisruptionTarget condition together with the terminal phase, as of
// now.
func (m *Manager) mergeDisruptionTarget(merged, old *v1.PodStatus, c v1.PodCondition) {
	c.LastTransitionTime = normalizeTimestamp(metav1.NewTime(m.o.Now()))
	if before := FindCondition(old, c.Type); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	SetCondition(merged, c)
}

// setNotReady sets the Ready and ContainersReady conditions of a pod with a terminal phase to
// False.
func (m *Manager) setNotReady(pod *v1.Pod, status *v1.PodStatus) {
	reason := podCompleted
	if status.Phase == v1.PodFailed {
		reason = podFailed
	}
	for _, t := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		c := v1.PodCondition{Type: t, ObservedGeneration: pod.Generation, Status: v1.ConditionFalse, Reason: reason}
		c.LastTransitionTime = normalizeTimestamp(metav1.NewTime(m.o.Now()))
		if old := FindCondition(status, t); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		SetCondition(status, c)
	}
	m.forgetGenerations(status)
}

// forgetGenerations removes the observed generations if the kubelet does not write them
// (podutil.GetPodObservedGenerationIfEnabled in pkg/api/v1/pod/util.go at v1.33.13).
func (m *Manager) forgetGenerations(status *v1.PodStatus) {
	if !m.o.NoObservedGeneration {
		return
	}
	status.ObservedGeneration = 0
	for i := range status.Conditions {
		status.Conditions[i].ObservedGeneration = 0
	}
}

// NeedToReconcilePodReadiness reports whether the Ready condition of a pod with readiness gates, in
// the status from the API, differs from the condition that follows from the rest of that status.
// The check looks at regular containers only, so sidecars count as unknown and a pod with sidecars
// always needs a reconcile.
func NeedToReconcilePodReadiness(pod *v1.Pod) bool {
	now := FindCondition(&pod.Status, v1.PodReady)
	if len(pod.Spec.ReadinessGates) == 0 || now == nil {
		return false
	}
	want := GeneratePodReadyCondition(pod, pod.Status.Conditions, pod.Status.ContainerStatuses, pod.Status.Phase)
	return now.Status != want.Status || now.Message != want.Message
}
