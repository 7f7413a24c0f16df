package kubelet

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/status"
)

// The time to the next check for resizes that are not allocated, which is shorter while the kubelet
// does not know all pods (pkg/kubelet/allocation/allocation_manager.go at v1.37.0).
const (
	initialRetryDelay = 30 * time.Second
	retryDelay        = 3 * time.Minute
)

// podResources are the resources of the containers of a pod, by name; nil if no container has any.
type podResources map[string]v1.ResourceRequirements

// resourcesOf returns the resources of the containers that can be resized (ResourceInfoForPod in
// pkg/kubelet/allocation/allocation_manager.go at v1.37.0).
func (k *Kubelet) resourcesOf(pod *v1.Pod) podResources {
	var of podResources
	k.eachResizable(pod, func(c *v1.Container) {
		if of == nil {
			of = podResources{}
		}
		of[c.Name] = c.Resources
	})
	if !anyHasResources(pod) {
		return nil
	}
	return of
}

func hasResources(c v1.Container) bool { return len(c.Resources.Requests)+len(c.Resources.Limits) > 0 }

// anyHasResources reports whether a container of the pod has a request or a limit.
func anyHasResources(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, hasResources) ||
		slices.ContainsFunc(pod.Spec.InitContainers, hasResources)
}

// eachResizable calls f for the containers that a resize can change (IsResizableContainer in
// pkg/kubelet/allocation/allocation_manager.go at v1.37.0).
func (k *Kubelet) eachResizable(pod *v1.Pod, f func(*v1.Container)) {
	for i := range pod.Spec.InitContainers {
		if k.profile.InPlacePodVerticalScalingInitContainers ||
			podutil.IsRestartableInitContainer(&pod.Spec.InitContainers[i]) {
			f(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		f(&pod.Spec.Containers[i])
	}
}

// allocations decides about resizes: the kubelet runs a pod with the resources that it has
// allocated, which are not those of its spec until the resize is accepted: as soon as all pods are
// known and the node has room (manager in pkg/kubelet/allocation/allocation_manager.go at v1.37.0)
type allocations struct {
	k       *Kubelet
	pending []types.UID // pods with a resize that is not allocated, in the order in which the kubelet tries them
	timer   *sim.Timer
}

func newAllocations(k *Kubelet) *allocations {
	a := &allocations{k: k}
	a.timer = k.sim.NewTimer("time of pending resizes", func() { k.sim.Go("pending resizes", a.retry) })
	return a
}

// updatePod returns the pod with its allocated resources, and whether they differ from its own. A
// pod without an allocation stays as it is (UpdatePodFromAllocation).
func (a *allocations) updatePod(pod *v1.Pod) (*v1.Pod, bool) {
	k := a.k
	allocated := k.disk.allocated[pod.UID]
	differs := false
	k.eachResizable(pod, func(c *v1.Container) {
		if own, ok := allocated[c.Name]; ok && amountsOf(&own) != amountsOf(&c.Resources) {
			differs = true
		}
	})
	if !differs {
		return pod, false
	}
	pod = pod.DeepCopy()
	k.eachResizable(pod, func(c *v1.Container) {
		if own, ok := allocated[c.Name]; ok {
			c.Resources = own
		}
	})
	return pod, true
}

// add allocates the resources of a new pod, or rejects the pod. A kubelet that starts again finds
// its earlier allocation on the disk. add reports whether the pod has a resize that is not
// allocated (AddPod, and HandlePodAdditions in pkg/kubelet/kubelet.go).
func (a *allocations) add(p *sim.Proc, pod *v1.Pod) (admitted, waits bool) {
	asAllocated, _ := a.updatePod(pod)
	if r := a.canAdmitPod(asAllocated); r.reason != "" {
		a.k.rejectPod(pod, r)
		return false, false
	}
	if _, known := a.k.disk.allocated[pod.UID]; !known {
		a.store(pod)
		p.PreemptBefore("allocation stored, pod not synced", newPod)
	}
	_, waits = a.updatePod(pod)
	return true, waits
}

// store writes an allocation to the disk. Others can run while the file is written, for example the
// workers of the pods that the same change has added before this one: the caller has a preemption
// point (storeState in pkg/kubelet/allocation/state/state_checkpoint.go at v1.37.0).
func (a *allocations) store(pod *v1.Pod) {
	a.k.disk.allocated[pod.UID] = a.k.resourcesOf(pod)
}

// resize allocates the resources of a pod whose spec has changed (HandlePodUpdates in
// pkg/kubelet/kubelet.go).
func (a *allocations) resize(p *sim.Proc, before, pod *v1.Pod) {
	k := a.k
	if before == nil || !k.profile.ResizesAreQueued {
		return
	}
	resized := k.profile.EachUpdateRetriesResizes
	k.eachResizable(pod, func(c *v1.Container) {
		if was := podutil.Find(before, c.Name); was != nil && amountsOf(&was.Resources) != amountsOf(&c.Resources) {
			resized = true
		}
	})
	if !resized {
		return
	}
	if _, differs := a.updatePod(pod); !differs {
		k.status.ClearPodResizePending(pod.UID)
		return
	}
	if !k.profile.TerminationEndsResizes || !k.isTerminatingOrTerminal(pod) {
		a.push(pod.UID)
	}
	a.retry(p)
}

// push adds a pod to those that wait, and sorts them (PushPendingResize).
func (a *allocations) push(uid types.UID) {
	if !slices.Contains(a.pending, uid) {
		a.pending = append(a.pending, uid)
		a.sortPendingResizes()
	}
}

// sortPendingResizes sorts the pods that wait, without those that are gone (function of that name).
// The result depends on the order from before and on the algorithm, because the comparison is not
// symmetric: of two resizes that increase nothing, each comes first.
func (a *allocations) sortPendingResizes() {
	var pods []*v1.Pod
	for _, uid := range a.pending {
		if pod, ok := a.k.podManager.GetPodByUID(uid); ok {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, a.compareResizes)
	a.pending = a.pending[:0]
	for _, pod := range pods {
		a.pending = append(a.pending, pod.UID)
	}
}

// compareResizes returns -1 if the resize of one pod comes before that of another one: if it
// increases no request, then if its priority is higher, then if only the first pod is guaranteed,
// and then if it has waited longer.
func (a *allocations) compareResizes(x, y *v1.Pod) int {
	if !a.isResizeIncreasingRequests(x) {
		return -1
	}
	if !a.isResizeIncreasingRequests(y) {
		return 1
	}
	if order := cmp.Compare(priorityOf(y), priorityOf(x)); order != 0 {
		return order
	}
	switch guaranteed := isGuaranteed(x); {
	case guaranteed != isGuaranteed(y) && guaranteed:
		return -1
	case guaranteed != isGuaranteed(y):
		return 1
	}
	since, sinceOther := a.waitsSince(x), a.waitsSince(y)
	if since != nil && (sinceOther == nil || since.Before(sinceOther)) {
		return -1
	}
	return 1
}

// isResizeIncreasingRequests reports whether a pod requests more cpu or memory than the kubelet has
// allocated (function of that name).
func (a *allocations) isResizeIncreasingRequests(pod *v1.Pod) bool {
	allocated, differs := a.updatePod(pod)
	if !differs {
		return false
	}
	before, after := podutil.SumOf(allocated, requestsOf), podutil.SumOf(pod, requestsOf)
	return after.Cpu().Cmp(*before.Cpu()) > 0 || after.Memory().Cmp(*before.Memory()) > 0
}

func isGuaranteed(pod *v1.Pod) bool { return podutil.QOSClass(&pod.Spec) == v1.PodQOSGuaranteed }

// waitsSince returns the time since which the pod has the condition PodResizePending; nil if it
// does not have the condition.
func (a *allocations) waitsSince(pod *v1.Pod) *metav1.Time {
	for _, c := range a.k.status.PodResizeConditions(pod.UID) {
		if c.Type == v1.PodResizePending {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// hasReleased reports whether a change of a pod's status makes the kubelet try the resizes that
// wait: if the pod has ended, or if the requests have become smaller (HandlePodReconcile in
// pkg/kubelet/kubelet.go at v1.37.0).
func (a *allocations) hasReleased(before, pod *v1.Pod) bool {
	if a.k.profile.ResizesRetriedWhenPodsEnd && status.IsTerminal(pod.Status.Phase) &&
		!status.IsTerminal(before.Status.Phase) {
		return true
	}
	was, is := a.requestsInUse(before), a.requestsInUse(pod)
	return is.Cpu().Cmp(*was.Cpu()) < 0 || is.Memory().Cmp(*was.Memory()) < 0
}

// requestsInUse returns the requests of a pod: the most of those that the kubelet has allocated and
// those that the status shows as allocated and as in use. The status of the pod counts if it has
// both, otherwise those of its containers (PodRequests in k8s.io/component-helpers/resource
// v0.37.0).
func (a *allocations) requestsInUse(pod *v1.Pod) v1.ResourceList {
	pod, _ = a.updatePod(pod)
	if !a.k.profile.RequestsInUseOfPod {
		return podutil.SumOf(pod, func(c *v1.Container) v1.ResourceList { return requestsInUseOf(pod, c) })
	}
	requests := podutil.SumOf(pod, requestsOf)
	allocated, actual := status.AllocatedPodResources(&pod.Status), status.PodResources(&pod.Status).Requests
	if allocated == nil || actual == nil || !a.k.profile.InPlacePodLevelResourcesVerticalScaling {
		allocated = podutil.SumOf(pod, func(c *v1.Container) v1.ResourceList { return allocatedRequests(pod, c) })
		actual = podutil.SumOf(pod, func(c *v1.Container) v1.ResourceList { return actualRequests(pod, c) })
	}
	podutil.RaiseTo(requests, allocated)
	podutil.RaiseTo(requests, actual)
	return requests
}

// requestsInUseOf returns the requests of a container: the most of those of its spec and those that
// the status shows. Only the spec of an init container that is not a sidecar counts
// (AggregateContainerRequests in k8s.io/component-helpers/resource v0.36.3).
func requestsInUseOf(pod *v1.Pod, c *v1.Container) v1.ResourceList {
	s := status.FindContainerStatus(pod.Status.ContainerStatuses, c.Name)
	if podutil.IsRestartableInitContainer(c) {
		s = status.FindContainerStatus(pod.Status.InitContainerStatuses, c.Name)
	}
	if s == nil || s.Resources == nil {
		return c.Resources.Requests
	}
	requests := v1.ResourceList{}
	podutil.RaiseTo(requests, c.Resources.Requests)
	podutil.RaiseTo(requests, s.AllocatedResources)
	podutil.RaiseTo(requests, s.Resources.Requests)
	return requests
}

// statusOf returns the status of a container or an init container; nil if there is none.
func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	if s := status.FindContainerStatus(pod.Status.ContainerStatuses, name); s != nil {
		return s
	}
	return status.FindContainerStatus(pod.Status.InitContainerStatuses, name)
}

// allocatedRequests returns the requests that the status of a container shows as allocated,
// otherwise those of its spec.
func allocatedRequests(pod *v1.Pod, c *v1.Container) v1.ResourceList {
	if s := statusOf(pod, c.Name); s != nil && s.AllocatedResources != nil {
		return s.AllocatedResources
	}
	return c.Resources.Requests
}

// actualRequests returns the requests that the status of a container shows as in use, otherwise
// those that are allocated.
func actualRequests(pod *v1.Pod, c *v1.Container) v1.ResourceList {
	if s := statusOf(pod, c.Name); s != nil && s.Resources != nil && s.Resources.Requests != nil {
		return s.Resources.Requests
	}
	return allocatedRequests(pod, c)
}

// retry allocates the resizes that are pending, and tries those that have to wait again later
// (RetryPendingResizes).
func (a *allocations) retry(p *sim.Proc) {
	if !a.k.sourcesReady() {
		a.retryAfter(initialRetryDelay)
		return
	}
	pending := a.pending
	a.pending = nil
	var deferred []types.UID
	for _, uid := range pending {
		pod, ok := a.k.podManager.GetPodByUID(uid)
		if ok && a.k.profile.TerminationEndsResizes && a.k.isTerminatingOrTerminal(pod) {
			if before := len(a.k.status.PodResizeConditions(uid)); a.forget(uid) < before {
				a.syncNow(pod)
			}
		} else if ok && a.handlePodResourcesResize(p, pod) {
			deferred = append(deferred, uid)
		}
	}
	a.pending = append(deferred, a.pending...)
	a.retryAfter(retryDelay)
}

// forget ends the wait of a resize, and returns the number of conditions about resizes that the pod
// still has.
func (a *allocations) forget(uid types.UID) int {
	a.k.status.ClearPodResizePending(uid)
	return len(a.k.status.PodResizeConditions(uid))
}

// syncNow syncs a pod, and inspects it afterwards (SyncPodNow in pkg/kubelet/kubelet.go at
// v1.38.0-beta.0).
func (a *allocations) syncNow(pod *v1.Pod) {
	a.k.workers.updatePod(podUpdate{typ: syncSync, pod: pod})
	a.k.pleg.requestRelist(pod.UID)
}

func (a *allocations) retryAfter(delay time.Duration) {
	if len(a.pending) > 0 {
		a.k.sim.Set(a.timer, a.k.sim.Now().Add(delay))
	} else {
		a.k.sim.Stop(a.timer)
	}
}

// handlePodResourcesResize gives a pod the resources of its spec if the node admits the resize, and
// syncs the pod now. Each attempt changes the time in the condition PodResizePending, so each
// attempt makes a sync. It reports whether the resize waits; one that is infeasible does not
// (function of that name, and retryPendingResizes).
func (a *allocations) handlePodResourcesResize(p *sim.Proc, pod *v1.Pod) (waits bool) {
	k := a.k
	if _, differs := a.updatePod(pod); !differs {
		k.status.ClearPodResizePending(pod.UID)
		return false
	}
	defer k.sim.SetCause(k.sim.Cause())
	k.sim.SetCause(cmp.Or(k.sim.Cause(), k.podManager.wanted[pod.UID]))
	if r := a.canResizePod(pod); r.reason != "" {
		a.refuse(pod, r)
		waits = r.reason != v1.PodReasonInfeasible
	} else {
		a.allocate(p, pod)
	}
	a.syncNow(pod)
	return waits
}

// refuse notes why the node does not admit a resize (handlePodResourcesResize in
// pkg/kubelet/allocation/allocation_manager.go at v1.37.0).
func (a *allocations) refuse(pod *v1.Pod, r rejection) {
	k := a.k
	if changed := k.status.SetPodResizePending(pod.UID, r.reason, r.message, pod.Generation); !changed ||
		!k.profile.ResizeEvents {
		return
	}
	event := "ResizeDeferred"
	if r.reason == v1.PodReasonInfeasible {
		event = "ResizeInfeasible"
	}
	k.podEvent(pod, v1.EventTypeWarning, event, k.resizeMessage("Pod resize "+r.reason, pod, pod.Generation, r.message))
}

func (a *allocations) allocate(p *sim.Proc, pod *v1.Pod) {
	k := a.k
	a.store(pod)
	p.Preempt("allocation stored, pod not synced")
	k.status.ClearPodResizePending(pod.UID)
	k.status.ClearPodResizeInProgress(pod.UID)
	k.status.SetPodResizeInProgress(pod.UID, "", "", pod.Generation)
	if k.profile.ResizeEvents {
		k.podEvent(pod, v1.EventTypeNormal, "ResizeStarted",
			k.resizeMessage("Pod resize started", pod, pod.Generation, ""))
	}
}

// resizeMessage returns the message of an event about a resize, which has the resources of all
// containers (podResizeMessage in pkg/kubelet/events/resize.go at v1.37.0).
func (k *Kubelet) resizeMessage(what string, pod *v1.Pod, generation int64, failure string) string {
	type container struct {
		Name      string                  `json:"name"`
		Resources v1.ResourceRequirements `json:"resources"`
	}
	var summary struct {
		InitContainers []container `json:"initContainers,omitempty"`
		Containers     []container `json:"containers,omitempty"`
		Generation     *int64      `json:"generation,omitempty"`
		Error          string      `json:"error,omitempty"`
	}
	for _, c := range pod.Spec.InitContainers {
		summary.InitContainers = append(summary.InitContainers, container{c.Name, c.Resources})
	}
	for _, c := range pod.Spec.Containers {
		summary.Containers = append(summary.Containers, container{c.Name, c.Resources})
	}
	if k.profile.ResizeEvents {
		summary.Generation = &generation
	}
	summary.Error = failure
	text, err := json.Marshal(summary)
	if err != nil {
		panic(err) // quantities can always be marshaled
	}
	return what + ": " + string(text)
}
