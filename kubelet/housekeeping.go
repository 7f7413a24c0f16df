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

// housekeep clears up what is left of pods that are gone. It runs in the sync loop, which takes nothing
// else during the two list calls. If they fail the next turn does it (HandlePodCleanups in pkg/kubelet/kubelet_pods.go at
// v1.37.0).
//
// Most of the time there is nothing, and to find that out it need not look at all pods: nothing has changed since it
// found it out before.
func (k *Kubelet) housekeep(p *sim.Proc) {
	changes := k.changes()
	settled := k.settled == changes || k.workers.syncKnown(k.podManager.has)
	running, err := k.listRunning(p)
	if err != nil {
		return
	}
	if k.settled != k.changes() {
		k.prober.CleanupPods(k.workers.couldBeProbed)
		k.status.RemoveOrphanedStatuses(k.podManager.has)
	}
	k.endRejected()
	k.killOrphans(running)
	k.backOff.forget(k.sim.Now())
	if settled {
		k.settled = changes
	}
}

// changes counts what can leave something to be cleared up: that a pod is gone, that a worker is made, that it has
// terminated its pod, that it ends. Only pods with a worker get probe workers, and only pods that are there or have a
// worker get a status; and a probe worker that was told to stop need not be told again.
func (k *Kubelet) changes() int { return k.podManager.removed + k.workers.changes }

// listRunning lists the pods of which something runs, anew if that took so long that the listing is old already. Only
// a kubelet that has just started meets pods there that it does not know of: later on nobody asks.
func (k *Kubelet) listRunning(p *sim.Proc) ([]*runtimePod, error) {
	scope, start := fakeruntime.Call{Ready: true, Running: true}, p.Now()
	if k.knowsAll {
		scope.OnlyChanged, scope.Since = true, k.runtime.Generation()
	}
	running, err := k.list(p, scope)
	if err == nil && p.Now().Sub(start) > runtimeCachePeriod {
		running, err = k.list(p, scope)
	}
	if err != nil || k.knowsAll {
		return nil, err
	}
	k.knowsAll = true
	return running.pods(), nil
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
