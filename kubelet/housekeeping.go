package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// orphanGrace is the grace period of a pod that the kubelet has no specification of.
const orphanGrace = int64(1)

const (
	// runtimeCachePeriod is how old the listing of housekeeping may be before it is made again
	// (pkg/kubelet/container/runtime_cache.go at v1.37.0).
	runtimeCachePeriod = 3 * time.Second
	// imageListPeriod is that of pkg/kubelet/images/image_gc_manager.go at v1.37.0.
	imageListPeriod = 30 * time.Second
)

// handlePodCleanups removes what is left of pods that are gone. It runs in the sync loop, which handles nothing else
// during the two list calls. If a call fails, the next housekeeping tick tries again (HandlePodCleanups in
// pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) handlePodCleanups(p *sim.Proc) {
	k.workers.syncKnownPods(k.podManager.has)
	running, err := k.listRunning(p)
	if err != nil {
		return
	}
	k.prober.CleanupPods(k.workers.couldBeProbed)
	k.status.RemoveOrphanedStatuses(k.podManager.has)
	k.endRejected()
	k.killOrphans(running)
	k.backOff.forget(k.sim.Now())
}

// listRunning lists the pods that have a running container or a ready sandbox. It lists them again if the calls took
// so long that the answer is outdated (pkg/kubelet/container/runtime_cache.go at v1.37.0). Only the first list of a
// kubelet can contain pods without a worker, so later lists ask for nothing.
func (k *Kubelet) listRunning(p *sim.Proc) ([]*runtimePod, error) {
	scope, start := fakeruntime.Call{Ready: true, Running: true}, p.Now()
	if k.knowsAll {
		scope.OnlyChanged, scope.Since, scope.AndOthers = true, k.runtime.Generation(), k.full
	}
	running, err := k.list(p, scope)
	if err == nil && p.Now()-start > runtimeCachePeriod {
		running, err = k.list(p, scope)
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

// couldBeProbed reports whether a container of the pod may run as far as its worker knows.
func (p *podWorkers) couldBeProbed(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && !w.terminated
}

// listImages is the image manager's refresh of its list of images; nothing waits for it.
func (k *Kubelet) listImages(p *sim.Proc) {
	for {
		k.do(p, fakeruntime.Call{Method: fakeruntime.ListImages})
		p.Sleep(imageListPeriod)
	}
}

// killOrphans has the pods terminated that run and that the kubelet knows nothing else of: they were deleted by
// force while it did not run (HandlePodCleanups in kubelet_pods.go at v1.37.0).
func (k *Kubelet) killOrphans(running []*runtimePod) {
	choose.Shuffle(k.sim, "orphaned pods", running)
	for _, r := range running {
		if _, known := k.workers.workers[r.uid]; !known {
			k.workers.terminate(r)
		}
	}
}

// terminate has a worker of its own end a pod that only the runtime knows.
func (p *podWorkers) terminate(r *runtimePod) {
	pod := r.apiPod()
	w := p.newWorker(pod)
	w.orphan, w.deleted, w.terminating = r, true, true
	w.pending = &podUpdate{typ: syncKill, pod: pod, cause: p.k.started}
	p.startWorker(w)
	w.wake.TrySend(struct{}{})
}

// terminateOrphan ends what runs of such a pod, and forgets it. If that fails, the next housekeeping has it tried again
// (SyncTerminatingRuntimePod in kubelet.go at v1.37.0).
func (p *podWorkers) terminateOrphan(proc *sim.Proc, w *podWorker) bool {
	grace := orphanGrace
	u, _ := p.take(w)
	if err := p.k.killPod(proc, u, *w.orphan, &grace); err != nil {
		p.k.failedToKill(u, err)
		return false
	}
	p.forget(w)
	p.order = slices.DeleteFunc(p.order, func(uid types.UID) bool { return uid == w.uid })
	return true
}

// apiPod returns what can be said of the pod.
func (r *runtimePod) apiPod() *v1.Pod {
	pod := &v1.Pod{}
	pod.UID = r.uid
	for _, s := range r.sandboxes {
		pod.Namespace, pod.Name = s.Namespace, s.PodName
	}
	for _, c := range r.containers {
		pod.Namespace, pod.Name = c.Namespace, c.PodName
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name, Image: c.Image})
	}
	return pod
}
