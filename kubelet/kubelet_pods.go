package kubelet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
)

// runtimeCachePeriod is the age at which the list of running pods is outdated
// (pkg/kubelet/container/runtime_cache.go at v1.37.0).
const runtimeCachePeriod = 3 * time.Second

// handlePodCleanups cleans up after pods that are gone. It runs in the sync loop, which is blocked
// during the two list calls. If a call fails, the next housekeeping tries again (HandlePodCleanups
// in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) handlePodCleanups(p *sim.Proc) {
	k.workers.syncKnownPods(k.isDesired)
	running, err := k.listRunning(p)
	if err != nil {
		return
	}
	k.prober.CleanupPods(p, k.couldBeProbed)
	k.status.RemoveOrphanedStatuses(k.isDesired)
	k.deleteOrphanedMirrors(p)
	k.restartStaticPods()
	k.finishRejectedPods()
	k.terminateOrphans(running)
	k.backOff.forget(k.sim.Now())
}

// cleanUpAtOnce does the cleanup that is due now, without the process of the sync loop, if there is
// nothing to clean up and nothing else happens until the end of the cleanup. Otherwise it returns
// false. The process must wait. A tick of the sync ticker that is due now does not matter if it
// finds nothing to do at the end of the cleanup, when the sync loop would get to it.
func (k *Kubelet) cleanUpAtOnce(syncLoop *sim.Proc, syncTicker *sim.Ticker) bool {
	now := k.sim.Now()
	end := k.listsEnd(now) // before the lists are outdated, because the sync ticker ticks every second
	if !k.sim.IdleUntil(end, syncTicker) || !k.nothingToSync(end) || k.cleanUntil() < now {
		return false
	}
	k.cleanUpNothing(syncLoop, 1, end)
	return true
}

// cleanUntil returns the last time of a cleanup that finds nothing to clean up if nothing changes
// until then.
func (k *Kubelet) cleanUntil() virtual.Time {
	if k.fullLists || !k.sourcesReady() || !k.knowsAll || len(k.rejected) > 0 ||
		len(k.podManager.orphanedMirrors()) > 0 ||
		!k.workers.areKnown(k.isDesired) || !k.prober.Keeps(k.couldBeProbed) ||
		k.status.HasOrphans(k.isDesired) {
		return virtual.Min
	}
	return virtual.Max
}

// cleanUpNothing does cleanups that find nothing to clean up. The last one ends at a time.
func (k *Kubelet) cleanUpNothing(syncLoop *sim.Proc, times int64, end virtual.Time) {
	syncLoop.SkipTurns(times)
	k.runtime.SkipLists(syncLoop, times, len(listsOfPods))
	k.backOff.forget(end)
}

// listRunning lists the pods that have a running container or a ready sandbox. It lists them again
// if the calls took so long that the result is outdated (pkg/kubelet/container/runtime_cache.go at
// v1.37.0). Only the first list of a kubelet can contain pods without a worker, so later lists
// leave out all pods.
func (k *Kubelet) listRunning(p *sim.Proc) ([]*runtimePod, error) {
	scope, start := fakeruntime.Call{Ready: true, Running: true}, p.Now()
	if k.knowsAll {
		scope.OnlyChanged, scope.Since, scope.AndOthers = true, k.runtime.Generation(), k.fullLists
	}
	running, err := k.getPods(p, scope)
	if err == nil && p.Now().Sub(start) > runtimeCachePeriod {
		running, err = k.getPods(p, scope)
	}
	if err != nil {
		return nil, err
	}
	pods := running.pods()
	if k.knowsAll {
		pods = slices.DeleteFunc(pods, func(r *runtimePod) bool { return k.workers.workers[r.uid] != nil })
	}
	k.knowsAll = true
	return pods, nil
}

// finishRejectedPods terminates the rejected pods that have been deleted. They have no worker that
// could do so (filterTerminalPodsToDelete in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) finishRejectedPods() {
	k.rejected = slices.DeleteFunc(k.rejected, func(uid types.UID) bool {
		pod, desired := k.podManager.GetPodByUID(uid)
		_, known := k.workers.workers[uid]
		if !desired || known {
			return true
		}
		ends := pod.DeletionTimestamp != nil && status.IsTerminal(pod.Status.Phase)
		if ends {
			k.sim.WithCause(k.podManager.wanted[uid],
				func() { k.workers.updatePod(podUpdate{typ: syncKill, pod: pod}) })
		}
		return ends
	})
}

// deleteOrphanedMirrors deletes the mirror pods without a static pod, in any order, once the
// containers of the static pod have stopped. The sync loop is blocked during the calls
// (HandlePodCleanups in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) deleteOrphanedMirrors(p *sim.Proc) {
	orphans := k.podManager.orphanedMirrors()
	choose.Guided(&k.sim.Asker, "orphaned mirror pods", orphans, podName)
	choose.Shuffle(k.sim, "orphaned mirror pods", orphans)
	for _, mirror := range orphans {
		if !k.workers.isPodForMirrorPodTerminating(podName(mirror)) {
			p.SetCause(k.disk.manifests.steps[types.UID(podutil.DelaysOf(mirror))])
			k.api.DeleteMirror(p, mirror.Namespace, mirror.Name, "")
		}
	}
}

// restartStaticPods hands static pods to a new worker, in any order, if the manifest came again
// while the pod terminated (HandlePodCleanups in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) restartStaticPods() {
	if len(k.podManager.static) == 0 {
		return
	}
	var pods []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(k.podManager.static)) {
		pod := k.podManager.static[name]
		if k.workers.workers[pod.UID] == nil && !k.isPodInactive(pod) {
			pods = append(pods, pod)
		}
	}
	choose.Shuffle(k.sim, "restarted static pods", pods)
	for _, pod := range pods {
		k.sim.WithCause(k.podManager.wanted[pod.UID],
			func() { k.workers.updatePod(podUpdate{typ: syncCreate, pod: pod}) })
	}
}

// terminateOrphans terminates running pods without a worker: pods that were force-deleted while the
// kubelet was down (HandlePodCleanups in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) terminateOrphans(running []*runtimePod) {
	choose.Shuffle(k.sim, "orphaned pods", running)
	for _, r := range running {
		if _, known := k.workers.workers[r.uid]; !known {
			k.workers.terminateRuntimePod(r)
		}
	}
}

// isPodInactive reports whether no container of the pod can run anymore (function of that name in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) isPodInactive(pod *v1.Pod) bool {
	w, known := k.workers.workers[pod.UID]
	if known && w.terminated {
		return true
	}
	stored, _ := k.status.GetPodStatus(pod.UID)
	terminal := status.IsTerminal(pod.Status.Phase) || stored != nil && status.IsTerminal(stored.Phase)
	return terminal && (!known || !w.terminating)
}

// isTerminatingOrTerminal reports whether a pod terminates or has terminated, as the API or the
// kubelet knows (IsPodTerminatingOrTerminal in pkg/kubelet/kubelet_pods.go at v1.38.0-beta.0).
func (k *Kubelet) isTerminatingOrTerminal(pod *v1.Pod) bool {
	w, known := k.workers.workers[pod.UID]
	stored, _ := k.status.GetPodStatus(pod.UID)
	return pod.DeletionTimestamp != nil || known && w.terminating || status.IsTerminal(pod.Status.Phase) ||
		stored != nil && status.IsTerminal(stored.Phase)
}

// activePods returns the pods that are not inactive, in any order (GetActivePods in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) activePods() []*v1.Pod {
	var active []*v1.Pod
	for _, pod := range k.podManager.list() {
		if !k.isPodInactive(pod) {
			active = append(active, pod)
		}
	}
	choose.Shuffle(k.sim, "active pods", active)
	return active
}

// hostIP is the address of the simulated node.
const hostIP = "10.0.0.1"

// Reasons and messages of the condition PodReadyToStartContainers (pkg/kubelet/types/constants.go
// and kuberuntime/util/util.go at v1.37.0).
const (
	sandboxNotReady  = "PodSandboxNotReady"
	noSandboxMessage = "no pod sandbox exists"
	notReadyMessage  = "pod sandbox is not ready"
)

// generateAPIPodStatus computes the API status of a pod from its runtime status, its previous
// status and the probe results, together with the cause of the status. Once the work is
// terminated, no container of the pod will run again (function of that name in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) generateAPIPodStatus(p *sim.Proc, u podUpdate, s *podStatus, work workType) (*v1.PodStatus, int64) {
	old, ok := k.status.GetPodStatus(u.pod.UID)
	if !ok {
		old = &u.pod.Status
	}
	api := &v1.PodStatus{HostIP: hostIP, HostIPs: []v1.HostIP{{IP: hostIP}}, QOSClass: u.pod.Status.QOSClass}
	for _, ip := range s.ips {
		api.PodIP = s.ips[0]
		api.PodIPs = append(api.PodIPs, v1.PodIP{IP: ip})
	}
	if u.pod.Spec.HostNetwork && api.PodIP == "" {
		api.PodIP, api.PodIPs = hostIP, []v1.PodIP{{IP: hostIP}}
	}
	restarting := shouldAllContainersRestart(u.pod, s, old)
	api.ContainerStatuses = k.convertToAPIContainerStatuses(u.pod, s, old.ContainerStatuses, u.pod.Spec.Containers,
		restarting)
	api.InitContainerStatuses = k.convertToAPIInitContainerStatuses(u.pod, s, old.InitContainerStatuses, restarting)
	if len(u.pod.Spec.EphemeralContainers) > 0 {
		api.EphemeralContainerStatuses = k.convertToAPIContainerStatuses(u.pod, s, old.EphemeralContainerStatuses,
			ephemeralContainers(u.pod), restarting)
	}
	k.setPodLevelResources(u.pod, api, old)
	final := work == workTerminated && !podutil.IsStatic(u.pod)
	api.Phase = k.mergePhase(getPhase(u.pod, api, final, s.hasActiveRegular(u.pod)), old, u.pod)
	if api.Phase == old.Phase {
		api.Reason, api.Message = cmp.Or(old.Reason, u.pod.Status.Reason), cmp.Or(old.Message, u.pod.Status.Message)
	}
	cause := k.failPastActiveDeadline(u, api)
	p.WithCause(cause, func() { k.prober.UpdatePodStatus(p, u.pod, api) })
	all := status.AllContainerStatuses(api)
	api.Conditions = slices.DeleteFunc(slices.Clone(u.pod.Status.Conditions),
		func(c v1.PodCondition) bool { return status.PodConditionByKubelet(c.Type) })
	api.Conditions = append(api.Conditions, k.determinePodResizeStatus(u.pod, work)...)
	if disrupted := status.FindCondition(old, v1.DisruptionTarget); disrupted != nil {
		status.SetCondition(api, *disrupted)
	}
	var kept []v1.PodCondition
	if k.profile.RestartAllContainersOnContainerExits {
		kept = old.Conditions
	}
	api.Conditions = append(api.Conditions, k.podReadyToStartContainersCondition(u.pod, s),
		status.GeneratePodInitializedCondition(u.pod, kept, all, api.Phase))
	api.Conditions = append(api.Conditions,
		status.GeneratePodReadyCondition(u.pod, api.Conditions, all, api.Phase),
		status.GenerateContainersReadyCondition(u.pod, all, api.Phase),
		v1.PodCondition{Type: v1.PodScheduled, ObservedGeneration: u.pod.Generation, Status: v1.ConditionTrue},
	)
	if podutil.AllContainersCouldRestart(&u.pod.Spec) {
		api.Conditions = append(api.Conditions, allContainersRestartingCondition(u.pod, s, old, api.Phase))
	}
	cause = k.causeOfStatus(u.pod, old, api, cause)
	p.Preempt("pod status generated, not stored")
	return api, cause
}

// determinePodResizeStatus returns the conditions about a resize of the pod, without those that end
// with its termination (function of that name in pkg/kubelet/kubelet_pods.go at v1.37.0 and
// v1.38.0-beta.0).
func (k *Kubelet) determinePodResizeStatus(pod *v1.Pod, work workType) []v1.PodCondition {
	if work == workTerminated || work == workTerminating && k.profile.TerminationEndsResizes {
		k.status.ClearPodResizePending(pod.UID)
	}
	if work == workTerminated {
		k.status.ClearPodResizeInProgress(pod.UID)
	}
	return k.status.PodResizeConditions(pod.UID)
}

// mergePhase returns the new phase of a pod. A terminal phase in the API never changes, from 1.38
// on nor does Failed that only the kubelet knows (generateAPIPodStatus in
// pkg/kubelet/kubelet_pods.go at v1.37.0 and v1.38.0-beta.0).
func (k *Kubelet) mergePhase(phase v1.PodPhase, old *v1.PodStatus, pod *v1.Pod) v1.PodPhase {
	switch {
	case status.IsTerminal(pod.Status.Phase):
		return pod.Status.Phase
	case phase == v1.PodFailed, phase == v1.PodSucceeded && !k.profile.FailureIsKept:
		return phase
	case status.IsTerminal(old.Phase):
		return old.Phase
	}
	return phase
}

// podReadyToStartContainersCondition returns the condition of a pod whose sandbox is ready
// (GeneratePodReadyToStartContainersCondition in pkg/kubelet/status/generate.go at v1.37.0).
func (k *Kubelet) podReadyToStartContainersCondition(pod *v1.Pod, s *podStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, ObservedGeneration: pod.Generation,
		Status: v1.ConditionTrue}
	if change := sandboxChange(s); change != "" {
		c.Status = v1.ConditionFalse
		if k.profile.SandboxReasonInCondition {
			c.Reason, c.Message = sandboxNotReady, change
		}
	}
	return c
}

// sandboxChange returns the reason why a pod needs a new sandbox, or an empty string
// (PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go at v1.37.0).
func sandboxChange(s *podStatus) string {
	switch {
	case len(s.sandboxes) == 0:
		return noSandboxMessage
	case !s.sandboxes[0].Ready:
		return notReadyMessage
	}
	return ""
}

// getPhase returns the phase of a pod. If terminal is set, no container will run again. If
// initialized is set, a regular container has started in the current sandbox (getPhase in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func getPhase(pod *v1.Pod, s *v1.PodStatus, terminal, initialized bool) v1.PodPhase {
	init := countInitContainers(pod, s.InitContainerStatuses)
	n := countContainers(pod, s.ContainerStatuses)
	n.running, n.unknown, n.waiting = n.running+init.running, n.unknown+init.unknown, n.waiting+init.waiting
	switch {
	case init.failed:
		return v1.PodFailed
	case init.pending || init.sidecarPending && !initialized || n.waiting > 0 || n.unknown > 0 || n.running+
		n.stopped == 0:
		return v1.PodPending
	case n.running > 0:
		return v1.PodRunning
	case !terminal && n.stopped != n.stoppedForGood:
		return v1.PodRunning
	case n.stopped == n.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// states counts containers by their state.
type states struct{ unknown, running, waiting, stopped, stoppedForGood, succeeded int }

// countContainers counts the regular containers of a pod.
func countContainers(pod *v1.Pod, statuses []v1.ContainerStatus) states {
	var n states
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		c := status.FindContainerStatus(statuses, spec.Name)
		switch {
		case c == nil:
			n.unknown++
		case c.State.Running != nil:
			n.running++
		case c.State.Terminated != nil:
			n.stop(pod, spec, c.State.Terminated)
			if c.State.Terminated.ExitCode == 0 {
				n.succeeded++
			}
		case c.State.Waiting != nil && c.LastTerminationState.Terminated != nil:
			n.stop(pod, spec, c.LastTerminationState.Terminated)
		case c.State.Waiting != nil:
			n.waiting++
		default:
			n.unknown++
		}
	}
	return n
}

func (n *states) stop(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) {
	n.stopped++
	if !restartable(pod, c, end) {
		n.stoppedForGood++
	}
}

// initStates summarizes the init containers for the phase of a pod. A sidecar that has started once
// and then stopped does not count.
type initStates struct {
	pending        bool // a regular init container has not completed
	failed         bool // a regular init container failed and will not restart
	sidecarPending bool // a sidecar has not started
	states              // of sidecars
}

func countInitContainers(pod *v1.Pod, statuses []v1.ContainerStatus) initStates {
	var n initStates
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		if c := status.FindContainerStatus(statuses, spec.Name); podutil.IsRestartableInitContainer(spec) {
			n.countSidecar(c)
		} else {
			n.countRegularInit(pod, spec, c)
		}
	}
	return n
}

func (n *initStates) countRegularInit(pod *v1.Pod, spec *v1.Container, c *v1.ContainerStatus) {
	var end *v1.ContainerStateTerminated
	if c != nil {
		end = c.State.Terminated
		if c.State.Waiting != nil {
			end = c.LastTerminationState.Terminated
		}
	}
	switch {
	case end == nil:
		n.pending = true
	case end.ExitCode != 0 && !restartable(pod, spec, end):
		n.failed = true
	}
}

func (n *initStates) countSidecar(c *v1.ContainerStatus) {
	switch {
	case c == nil:
		n.unknown++
	case c.State.Running != nil:
		n.running++
		n.sidecarPending = n.sidecarPending || c.Started == nil || !*c.Started
	case c.State.Terminated != nil:
	case c.State.Waiting == nil:
		n.unknown++
		n.sidecarPending = true
	case c.LastTerminationState.Terminated == nil:
		n.waiting++
		n.sidecarPending = true
	}
}

// Reasons and messages of an in-place restart of all containers (pkg/kubelet/kubelet_pods.go and
// status/generate.go at v1.37.0).
const (
	restartingAllContainers = "RestartingAllContainers"
	removedForRestart       = "The container is removed because RestartAllContainers in place"
	restartAllStarted       = "RestartAllContainersStarted"
	restartAllMessage       = "container exited with restart policy rule"
	killedForRestart        = "killing" // the message of the event
)

// containerIDPrefix precedes the ID of the runtime in a container status.
const containerIDPrefix = "containerd://"

// Reasons and messages of a container's status (pkg/kubelet/kubelet_pods.go and
// container/runtime.go at v1.37.0).
const (
	containerCreating = "ContainerCreating"
	podInitializing   = "PodInitializing"
	statusUnknown     = "ContainerStatusUnknown"
	lostContainer     = "The container could not be located when the pod was deleted.  The container used to be " +
		"Running"
	lostContainerCode = 137
	lostInitContainer = "Unable to get init container status from container runtime and pod has been initialized, " +
		"treat it as exited normally"
	instancesPerStatus = 2 // the newest instance and the one before it
)

// ephemeralContainers returns the ephemeral containers of a pod as containers.
func ephemeralContainers(pod *v1.Pod) []v1.Container {
	var list []v1.Container
	for i := range pod.Spec.EphemeralContainers {
		list = append(list, v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return list
}

// convertToAPIContainerStatuses returns the API statuses of regular or ephemeral containers. The
// status of a container that waits for a restart contains the reason. If restarting is set, all
// containers of the pod are about to restart (function of that name in pkg/kubelet/kubelet_pods.go
// at v1.37.0).
func (k *Kubelet) convertToAPIContainerStatuses(pod *v1.Pod, s *podStatus, old []v1.ContainerStatus,
	specs []v1.Container, restarting bool) []v1.ContainerStatus {
	statuses := make([]v1.ContainerStatus, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		c := k.toAPIContainerStatus(spec, s, status.FindContainerStatus(old, spec.Name), pod, restarting)
		k.setWaitingReason(&c, pod, spec, s)
		statuses = append(statuses, c)
	}
	return statuses
}

// convertToAPIInitContainerStatuses returns the API statuses of the init containers in the order of
// the spec. The status of a container that exited with code 0 is never Waiting. A regular init
// container that the runtime has removed counts as completed if the pod has a regular container.
func (k *Kubelet) convertToAPIInitContainerStatuses(pod *v1.Pod, s *podStatus, old []v1.ContainerStatus,
	restarting bool) []v1.ContainerStatus {
	var statuses []v1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		c, rc := k.toAPIContainerStatus(spec, s, status.FindContainerStatus(old, spec.Name), pod, restarting),
			s.find(spec.Name)
		switch {
		case rc != nil && rc.State == fakeruntime.Exited && rc.ExitCode == 0:
		case rc == nil && c.State.Waiting != nil && !podutil.IsRestartableInitContainer(spec) && s.hasRegular(pod):
			c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed",
				Message: lostInitContainer}}
		default:
			k.setWaitingReason(&c, pod, spec, s)
		}
		statuses = append(statuses, c)
	}
	return statuses
}

// setWaitingReason changes the status of a container to Waiting, with the reason, if the container
// should restart and its last start failed or was put off.
func (k *Kubelet) setWaitingReason(c *v1.ContainerStatus, pod *v1.Pod, spec *v1.Container, s *podStatus) {
	reason, ok := k.reasons[containerKey{pod.UID, spec.Name}]
	if !k.profile.ContainerRestartRules {
		spec = &v1.Container{Name: spec.Name} // the pod's policy decides (pkg/kubelet/container/helpers.go at v1.34)
	}
	if !ok || !shouldContainerBeRestarted(pod, spec, s.find(spec.Name)) {
		return
	}
	if c.State.Terminated != nil {
		c.LastTerminationState = c.State
	}
	c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason.reason, Message: reason.message}}
}

// toAPIContainerStatus returns the status of the newest instance of a container. The last
// termination state comes from the instance before it.
func (k *Kubelet) toAPIContainerStatus(spec *v1.Container, s *podStatus, old *v1.ContainerStatus, pod *v1.Pod,
	restarting bool) v1.ContainerStatus {
	seen := 0
	var c v1.ContainerStatus
	for i := range s.containers {
		if s.containers[i].Name != spec.Name {
			continue
		}
		if seen++; seen == 1 {
			c = k.convertContainerStatus(spec, &s.containers[i], s.resources[i], old)
		} else if seen == instancesPerStatus {
			c.LastTerminationState = k.toContainerState(&s.containers[i])
			break
		}
	}
	if seen == 0 {
		return missingContainerStatus(spec, old, pod, restarting)
	}
	return c
}

// convertContainerStatus converts the status of one instance. Depending on the feature gates, it
// carries over the state of an instance that the runtime has removed, or Started from the previous
// status.
func (k *Kubelet) convertContainerStatus(spec *v1.Container, rc *fakeruntime.Container, has *amounts,
	old *v1.ContainerStatus) v1.ContainerStatus {
	c := v1.ContainerStatus{
		Name: spec.Name, Image: applyDefaultImageTag(rc.Image), ImageID: rc.Image, ContainerID: containerIDPrefix +
			rc.ID,
		RestartCount: int32(rc.Attempt), State: k.toContainerState(rc),
		AllocatedResources: spec.Resources.Requests, Resources: k.actualResources(spec, rc, has, old),
	}
	if old == nil {
		return c
	}
	c.VolumeMounts = old.VolumeMounts
	if k.profile.RestartAllContainersOnContainerExits {
		keepRemovedInstance(&c, old)
	}
	if !k.profile.ChangeContainerStatusOnKubeletRestart && rc.State == fakeruntime.Running &&
		(old.ContainerID == c.ContainerID || !k.profile.StartedOfInstance) {
		c.Started = old.Started
	}
	return c
}

// keepRemovedInstance carries over the last termination state and the restart count of an instance
// that the runtime has removed.
func keepRemovedInstance(c, old *v1.ContainerStatus) {
	attempt := c.RestartCount
	c.RestartCount = max(attempt, old.RestartCount)
	if old.ContainerID != c.ContainerID && old.State.Terminated != nil {
		c.LastTerminationState.Terminated = old.State.Terminated
	} else if old.LastTerminationState.Terminated != nil {
		c.LastTerminationState.Terminated = old.LastTerminationState.Terminated
	}
	if c.State.Running != nil && old.State.Terminated != nil && old.RestartCount >= attempt {
		c.RestartCount = old.RestartCount + 1
	}
}

// toContainerState converts the state of a container.
func (k *Kubelet) toContainerState(rc *fakeruntime.Container) v1.ContainerState {
	switch rc.State {
	case fakeruntime.Running:
		return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(k.wall(rc.StartedAt))}}
	case fakeruntime.Exited:
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			ExitCode: rc.ExitCode, Reason: rc.Reason, ContainerID: containerIDPrefix + rc.ID,
			StartedAt: metav1.NewTime(k.wall(rc.StartedAt)), FinishedAt: metav1.NewTime(k.wall(rc.FinishedAt)),
		}}
	}
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}
}

// missingContainerStatus returns the status of a container without an instance in the runtime. The
// status is waiting, unless the previous one is terminated. A container that was running is lost,
// or was removed for an in-place restart.
func missingContainerStatus(spec *v1.Container, old *v1.ContainerStatus, pod *v1.Pod,
	restarting bool) v1.ContainerStatus {
	reason := containerCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = podInitializing
	}
	c := v1.ContainerStatus{
		Name: spec.Name, Image: spec.Image,
		State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}, VolumeMounts: volumeMounts(spec),
	}
	if old == nil {
		return c
	}
	if old.State.Terminated != nil {
		c = *old
	} else {
		c.RestartCount, c.LastTerminationState = old.RestartCount, old.LastTerminationState
	}
	if restarting && old.State.Waiting == nil {
		return removedContainerStatus(c, old)
	}
	if old.State.Running != nil && c.LastTerminationState.Terminated == nil {
		c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
			Reason: statusUnknown, Message: lostContainer, ExitCode: lostContainerCode,
		}
		if pod.DeletionTimestamp == nil {
			c.RestartCount++
		}
	}
	return c
}

// volumeMounts returns the mounted volumes for the status of a container that has no instance yet.
// Its instances keep them from the status before. A kubelet that starts does not know the status of
// a static pod, so the status then loses them (convertToAPIContainerStatuses in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func volumeMounts(spec *v1.Container) []v1.VolumeMountStatus {
	var list []v1.VolumeMountStatus
	for _, m := range spec.VolumeMounts {
		list = append(list, v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return list
}

// shouldAllContainersRestart reports whether an exit of a container has triggered an in-place
// restart of the pod.
func shouldAllContainersRestart(pod *v1.Pod, s *podStatus, old *v1.PodStatus) bool {
	return podutil.ShouldAllContainersRestart(pod, old, func(name string) (int32, bool) {
		c := s.find(name)
		if c == nil || c.State != fakeruntime.Exited {
			return 0, false
		}
		return c.ExitCode, true
	})
}

// removedContainerStatus returns the status of a container that was removed for an in-place
// restart. It is based on the status of a lost container (convertToAPIContainerStatuses in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func removedContainerStatus(c v1.ContainerStatus, old *v1.ContainerStatus) v1.ContainerStatus {
	c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: restartingAllContainers,
		Message: removedForRestart}}
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
		Reason: restartingAllContainers, Message: removedForRestart, ExitCode: lostContainerCode,
	}
	c.RestartCount = old.RestartCount + 1
	return c
}

// restartable reports whether a container that terminated in this way will restart.
func restartable(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return podutil.ContainerShouldRestart(c, &pod.Spec, end.ExitCode) || end.Reason == restartingAllContainers
}

// allContainersRestartingCondition returns the condition AllContainersRestarting. It is true from
// the exit that triggers an in-place restart until the runtime has removed all containers
// (GenerateAllContainersRestartingCondition in pkg/kubelet/status/generate.go at v1.37.0).
func allContainersRestartingCondition(pod *v1.Pod, s *podStatus, old *v1.PodStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: podutil.AllContainersRestarting, Status: v1.ConditionFalse}
	left := func(rc fakeruntime.Container) bool { return podutil.Find(pod, rc.Name) != nil }
	switch {
	case phase == v1.PodSucceeded:
		c.Reason = "PodCompleted"
	case phase == v1.PodFailed:
		c.Reason = "PodFailed"
	case shouldAllContainersRestart(pod, s, old) && slices.ContainsFunc(s.containers, left):
		c.Status, c.Reason, c.Message = v1.ConditionTrue, restartAllStarted, restartAllMessage
	}
	return c
}
