package kubelet

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

const (
	// runtimeCachePeriod is how old the listing of housekeeping may be before it is made again
	// (pkg/kubelet/container/runtime_cache.go at v1.37.0).
	runtimeCachePeriod = 3 * time.Second
	// runtimeCheckPeriod and imageListPeriod are those of pkg/kubelet/kubelet.go and
	// pkg/kubelet/images/image_gc_manager.go at v1.37.0.
	runtimeCheckPeriod = 5 * time.Second
	imageListPeriod    = 30 * time.Second
)

// housekeep clears up what is left of pods that are gone. It runs in the sync loop, which takes nothing
// else during the two list calls (HandlePodCleanups in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) housekeep(p *sim.Proc) {
	k.workers.syncKnown(k.podManager.has)
	// Nobody asks what runs: there is nothing that the pod workers do not know of.
	scope, start := fakeruntime.Call{Ready: true, Running: true, OnlyChanged: true, Since: k.runtime.Generation()}, p.Now()
	k.list(p, scope)
	if p.Now()-start > runtimeCachePeriod {
		k.list(p, scope)
	}
	k.prober.CleanupPods(k.workers.couldBeProbed)
	k.status.RemoveOrphanedStatuses(k.podManager.has)
	k.backOffClock.SetTime(k.now())
	k.backOff.GC()
}

// couldBeProbed reports whether a container of the pod may run as far as its worker knows.
func (p *podWorkers) couldBeProbed(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && !w.terminated
}

// checkRuntime asks the runtime how it is every five seconds, and goes by no answer yet.
func (k *Kubelet) checkRuntime(p *sim.Proc) {
	for {
		k.do(p, fakeruntime.Call{Method: fakeruntime.Status})
		p.Sleep(runtimeCheckPeriod)
	}
}

// listImages is the image manager's refresh of its list of images; nothing waits for it.
func (k *Kubelet) listImages(p *sim.Proc) {
	for {
		k.do(p, fakeruntime.Call{Method: fakeruntime.ListImages})
		p.Sleep(imageListPeriod)
	}
}
