package kubelet

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
)

// amounts are the resources that a resize can change: cpu in thousandths of a core, memory in
// bytes; 0 for those that are not set (resourceRequirements in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
type amounts struct{ cpuRequest, cpuLimit, memoryRequest, memoryLimit int64 }

func amountsOf(r *v1.ResourceRequirements) amounts {
	if len(r.Requests)+len(r.Limits) == 0 {
		return amounts{}
	}
	return amounts{
		cpuRequest: r.Requests.Cpu().MilliValue(), cpuLimit: r.Limits.Cpu().MilliValue(),
		memoryRequest: r.Requests.Memory().Value(), memoryLimit: r.Limits.Memory().Value(),
	}
}

// sameCPU and sameMemory report whether the requests and limits of a resource are equal.
func (a amounts) sameCPU(b amounts) bool {
	return a.cpuRequest == b.cpuRequest && a.cpuLimit == b.cpuLimit
}
func (a amounts) sameMemory(b amounts) bool {
	return a.memoryRequest == b.memoryRequest && a.memoryLimit == b.memoryLimit
}

// containerUpdate is a running container whose resources change.
type containerUpdate struct {
	name, id string
	want     amounts
}

// actuated returns the resources that the kubelet gave a container last.
func (k *Kubelet) actuated(uid types.UID, container string) amounts {
	if has := k.disk.actuated[uid][container]; has != nil {
		return *has
	}
	return amounts{}
}

// setActuated notes the resources that the kubelet gives a container (setActuatedContainerResources
// in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) setActuated(uid types.UID, container string, a amounts) {
	of := k.disk.actuated[uid]
	if of == nil {
		of = map[string]*amounts{}
		k.disk.actuated[uid] = of
	}
	if has := of[container]; has == nil || *has != a {
		of[container] = &a
	}
}

// knownResources returns the resources that the kubelet gave a container last; nil if it does not
// know them (toKubeContainerStatus in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) knownResources(uid, container string) *amounts {
	return k.disk.actuated[types.UID(uid)][container]
}

// initializeActuated notes the resources of all containers of a pod before the first of them
// starts, so that the kubelet sees a resize that comes before a container has started
// (InitializeActuatedPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) initializeActuated(pod *v1.Pod) {
	if k.disk.actuated[pod.UID] != nil {
		return
	}
	k.eachResizable(pod, func(c *v1.Container) { k.setActuated(pod.UID, c.Name, amountsOf(&c.Resources)) })
}

// createPodCgroup creates the cgroup of a pod. Before 1.37, it is then that the kubelet notes the
// resources of its containers (SyncPod in pkg/kubelet/kubelet.go at v1.36.5).
func (k *Kubelet) createPodCgroup(pod *v1.Pod) {
	if k.profile.ResizesWithStarts && !k.profile.ActuatedAtEachSync && !k.disk.cgroups[pod.UID] {
		k.disk.cgroups[pod.UID] = true
		k.initializeActuated(pod)
	}
}

// actualResources returns the resources that the status of a container shows: those that a running
// container had at its inspection, otherwise the allocated ones. If the kubelet did not know them
// then, the status keeps those that it had (convertContainerStatusResources in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) actualResources(spec *v1.Container, rc *fakeruntime.Container, has *amounts,
	old *v1.ContainerStatus) *v1.ResourceRequirements {
	if !k.profile.InspectReadsResources {
		now := k.actuated(types.UID(rc.PodUID), spec.Name)
		has = &now
	}
	if rc.State != fakeruntime.Running || has != nil && *has == amountsOf(&spec.Resources) {
		return &spec.Resources
	}
	actual := spec.Resources.DeepCopy()
	if has == nil {
		if old != nil && old.Resources != nil && old.State.Running != nil && old.ContainerID == containerIDPrefix+
			rc.ID {
			keep(actual.Requests, old.Resources.Requests)
			keep(actual.Limits, old.Resources.Limits)
		}
		return actual
	}
	set := func(list v1.ResourceList, cpu, memory int64) {
		if list != nil {
			list[v1.ResourceCPU], list[v1.ResourceMemory] = *resource.NewMilliQuantity(cpu, resource.DecimalSI),
				*resource.NewQuantity(memory, resource.BinarySI)
		}
	}
	set(actual.Requests, has.cpuRequest, has.memoryRequest)
	set(actual.Limits, has.cpuLimit, has.memoryLimit)
	return actual
}

// keep copies the cpu and the memory of an old list to a list that is not nil.
func keep(list, old v1.ResourceList) {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if q, ok := old[name]; ok && list != nil {
			list[name] = q
		}
	}
}

// checkPodResizeInProgress sets or removes the condition PodResizeInProgress (SyncPod in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) checkPodResizeInProgress(pod *v1.Pod, s *podStatus) {
	if k.isPodResizeInProgress(pod, s) {
		k.status.SetPodResizeInProgress(pod.UID, "", "", pod.Generation)
	} else if generation, cleared := k.status.ClearPodResizeInProgress(pod.UID); cleared {
		k.podEvent(pod, v1.EventTypeNormal, "ResizeCompleted",
			k.resizeMessage("Pod resize completed", pod, generation, ""))
	}
}

// isPodResizeInProgress reports whether a running container has other resources than its pod's
// allocation. It does not look at init containers that are not sidecars, although a resize can
// change them (IsPodResizeInProgress and isResizableContainer in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) isPodResizeInProgress(pod *v1.Pod, s *podStatus) bool {
	differs := func(c *v1.Container) bool {
		rc := s.find(c.Name)
		return rc != nil && rc.State == fakeruntime.Running && k.actuated(pod.UID, c.Name) != amountsOf(&c.Resources)
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(c) && differs(c) {
			return true
		}
	}
	for i := range pod.Spec.Containers {
		if differs(&pod.Spec.Containers[i]) {
			return true
		}
	}
	return false
}

// computePodResizeAction decides how a running container gets its resources. It returns the kill of
// a container whose resize policy requires a restart; otherwise it adds the updates of its memory
// and cpu, decreases before increases (function of that name in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) computePodResizeAction(pod *v1.Pod, c *v1.Container, rc *fakeruntime.Container,
	actions *podActions) *containerKill {
	has, want := k.actuated(pod.UID, c.Name), amountsOf(&c.Resources)
	if has == want {
		return nil
	}
	actions.resize = true
	restarts := func(name v1.ResourceName) bool {
		return slices.ContainsFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool {
			return p.ResourceName == name && p.RestartPolicy == v1.RestartContainer
		})
	}
	memory, cpu := !want.sameMemory(has), !want.sameCPU(has)
	if memory && restarts(v1.ResourceMemory) || cpu && restarts(v1.ResourceCPU) {
		return &containerKill{*rc, killResized, fmt.Sprintf("Container %s resize requires restart", c.Name),
			k.causeOfChange(pod.UID)}
	}
	update := containerUpdate{c.Name, rc.ID, want}
	if memory {
		actions.updateMemory = inOrder(actions.updateMemory, update, has.memoryLimit, want.memoryLimit,
			has.memoryRequest, want.memoryRequest)
	}
	if cpu {
		actions.updateCPU = inOrder(actions.updateCPU, update, has.cpuLimit, want.cpuLimit, has.cpuRequest,
			want.cpuRequest)
	}
	return nil
}

// inOrder adds an update: a decrease at the front, an increase at the end. The limit counts if it
// changes, otherwise the request.
func inOrder(list []containerUpdate, u containerUpdate, limit, wantLimit, request,
	wantRequest int64) []containerUpdate {
	if wantLimit < limit || wantLimit == limit && wantRequest < request {
		return slices.Insert(list, 0, u)
	}
	return append(list, u)
}

// doPodResizeAction changes the memory and then the cpu of running containers, if the pod has a
// resize. If a call fails, it stops there, and the sync has failed. The next relist inspects the
// pod in any case (function of that name in pkg/kubelet/kuberuntime/kuberuntime_manager.go at
// v1.37.0).
func (k *Kubelet) doPodResizeAction(p *sim.Proc, pod *v1.Pod, actions *podActions, did *syncResult) {
	if !actions.resize {
		return
	}
	defer k.pleg.requestReinspect(pod.UID)
	for _, memory := range []bool{true, false} {
		updates := actions.updateCPU
		if memory {
			updates = actions.updateMemory
		}
		for _, u := range updates {
			if err := k.call(p, fakeruntime.Call{Method: fakeruntime.UpdateContainerResources, ContainerID: u.id,
				Cause: p.Cause()}); err != nil {
				did.resize, did.err = err, true
				return
			}
			has := k.actuated(pod.UID, u.name)
			if memory {
				has.memoryRequest, has.memoryLimit = u.want.memoryRequest, u.want.memoryLimit
			} else {
				has.cpuRequest, has.cpuLimit = u.want.cpuRequest, u.want.cpuLimit
			}
			k.setActuated(pod.UID, u.name, has)
		}
	}
}

// failedToResize notes the error of a resize in the condition PodResizeInProgress. The kubelet does
// so at the end of the sync, after the starts of containers (SyncPod in pkg/kubelet/kubelet.go at
// v1.37.0).
func (k *Kubelet) failedToResize(pod *v1.Pod, err error) {
	generation, changed := k.status.SetPodResizeInProgress(pod.UID, v1.PodReasonError, err.Error(), pod.Generation)
	if changed && k.profile.ResizeEvents {
		k.podEvent(pod, v1.EventTypeWarning, "ResizeError",
			k.resizeMessage("Pod resize error", pod, generation, err.Error()))
	}
}

// resizeStarting makes the sync change the resources of the pod if a container starts with other
// resources than before. The container gets them with its start (startingResizedContainer in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) resizeStarting(pod *v1.Pod, actions *podActions) {
	resized := func(c *v1.Container) bool { return k.actuated(pod.UID, c.Name) != amountsOf(&c.Resources) }
	if k.profile.ResizesWithStarts && (slices.ContainsFunc(actions.start, resized) ||
		slices.ContainsFunc(actions.startInit, resized)) {
		actions.resize = true
	}
}
