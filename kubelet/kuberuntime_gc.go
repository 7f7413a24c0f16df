package kubelet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

const (
	// gcPeriod is the time from the end of a container garbage collection to the start of the next.
	// Dead containers have no minimum age (pkg/kubelet/kubelet.go and
	// cmd/kubelet/app/options/options.go at v1.37.0).
	gcPeriod = time.Minute
	// containersToKeep is the number of dead containers of each name that stay.
	containersToKeep = 1
)

// garbageCollect is the process that removes the dead containers that the deletor left, and the
// sandboxes of pods that are gone (GarbageCollect in pkg/kubelet/kuberuntime/kuberuntime_gc.go at
// v1.37.0).
func (k *Kubelet) garbageCollect(p *sim.Proc) {
	k.fastForwardLists(p, gcPeriod, k.hasNoGarbage, fakeruntime.ListContainers, fakeruntime.ListContainers,
		fakeruntime.ListPodSandbox)
	for {
		k.garbage = garbage{none: true, generation: k.runtime.Generation()}
		k.forgetResources()
		k.evictContainers(p)
		k.evictSandboxes(p)
		p.Sleep(gcPeriod)
	}
}

// garbage is what the last garbage collection found.
type garbage struct {
	none       bool
	generation uint64 // of the runtime, before the collection
	pods       []types.UID
}

// hasNoGarbage reports whether a garbage collection would find nothing to remove, as the last one.
func (k *Kubelet) hasNoGarbage() bool {
	g := &k.garbage
	return g.none && g.generation == k.runtime.Generation() &&
		!slices.ContainsFunc(g.pods, k.workers.shouldContentBeRemoved) && !k.hasResourcesToForget()
}

// hasResourcesToForget reports whether forgetResources would remove something.
func (k *Kubelet) hasResourcesToForget() bool {
	for uid := range k.disk.actuated {
		if k.profile.InspectReadsResources && k.workers.shouldContentBeRemoved(uid) {
			return true
		}
	}
	return false
}

// forgetResources removes what the kubelet has noted about the resources of pods that were evicted
// or are gone (GarbageCollect in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) forgetResources() {
	if k.profile.InspectReadsResources {
		maps.DeleteFunc(k.disk.actuated,
			func(uid types.UID, _ map[string]*amounts) bool { return k.workers.shouldContentBeRemoved(uid) })
	}
}

// fastForwardLists lets the kernel skip the calls of a process that sleeps for a time after each,
// while idle returns true.
func (k *Kubelet) fastForwardLists(p *sim.Proc, period time.Duration, idle func() bool, calls ...fakeruntime.Method) {
	p.FastForward(sim.Idle{
		Until: func() virtual.Time {
			if !idle() || k.runtime.ListsEnd(p.Now(), calls...) == virtual.Max {
				return virtual.Min
			}
			return virtual.Max
		},
		Ends: func(ends []virtual.Time, at virtual.Time) []virtual.Time {
			return k.runtime.ListsEnds(ends, at, calls...)
		},
		Period: period, AfterEnd: true,
		Fire: func(times int64, _, end virtual.Time) {
			k.runtime.SkipLists(p, times, len(calls))
			p.WakeAt(end.Add(period))
		},
	})
}

// evictContainers removes the dead containers of each pod and name, oldest first. It keeps
// containers whose creation time is in the future because the wall clock was set back
// (evictContainers in pkg/kubelet/kuberuntime/kuberuntime_gc.go at v1.37.0).
func (k *Kubelet) evictContainers(p *sim.Proc) {
	var all listing
	// a list that fails is empty
	if all.add(k, k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ListContainers})) != nil {
		k.garbage.none = false
	}
	var units []containerKey
	byUnit := map[containerKey][]fakeruntime.Container{}
	for _, c := range all.containers {
		if c.State == fakeruntime.Running {
			continue
		}
		if k.since(c.CreatedAt) < 0 {
			k.garbage.none = false // it may become old enough
			continue
		}
		unit := containerKey{types.UID(c.PodUID), c.Name}
		if byUnit[unit] == nil {
			units = append(units, unit)
			k.garbage.pods = append(k.garbage.pods, unit.uid)
		}
		byUnit[unit] = append(byUnit[unit], c)
	}
	choose.Guided(&k.sim.Asker, "container GC", units,
		func(c containerKey) string { return string(c.uid) + "/" + c.name })
	choose.Shuffle(k.sim, "container GC", units)
	var rest []containerKey
	for _, unit := range units {
		if k.workers.shouldContentBeRemoved(unit.uid) {
			k.removeOldestN(p, byUnit[unit], 0)
		} else {
			rest = append(rest, unit)
		}
	}
	for _, unit := range rest {
		k.removeOldestN(p, byUnit[unit], containersToKeep)
	}
}

// removeOldestN removes all containers except for the newest ones.
func (k *Kubelet) removeOldestN(p *sim.Proc, newestFirst []fakeruntime.Container, keep int) {
	for i := len(newestFirst) - 1; i >= keep; i-- {
		k.garbage.none = false
		k.removeContainer(p, newestFirst[i].ID)
	}
}

// newerSandbox compares sandboxes by creation time in wall-clock time, newest first.
func newerSandbox(a, b fakeruntime.Sandbox) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) }

// evictSandboxes removes sandboxes that are not ready and have no containers. For a pod that still
// exists it keeps the newest (evictSandboxes in pkg/kubelet/kuberuntime/kuberuntime_gc.go at
// v1.37.0).
func (k *Kubelet) evictSandboxes(p *sim.Proc) {
	var all listing
	if err := all.add(k, k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ListContainers})); err != nil {
		k.garbage.none = false
		return
	}
	if all.add(k, k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ListPodSandbox})) != nil {
		k.garbage.none = false
	}
	used := map[string]bool{}
	for _, c := range all.containers {
		used[c.SandboxID] = true
	}
	pods := listing{sandboxes: all.sandboxes}.pods()
	choose.Guided(&k.sim.Asker, "sandbox GC", pods, func(r *runtimePod) string { return string(r.uid) })
	choose.Shuffle(k.sim, "sandbox GC", pods)
	for _, pod := range pods {
		k.garbage.pods = append(k.garbage.pods, pod.uid)
		keep := 0
		if !k.workers.shouldContentBeRemoved(pod.uid) {
			keep = 1
			slices.SortStableFunc(pod.sandboxes, newerSandbox)
		}
		for i := len(pod.sandboxes) - 1; i >= keep; i-- {
			if s := pod.sandboxes[i]; !s.Ready && !used[s.ID] {
				k.garbage.none = false
				if k.call(p, fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: s.ID}) == nil {
					k.call(p, fakeruntime.Call{Method: fakeruntime.RemovePodSandbox, SandboxID: s.ID})
				}
			}
		}
	}
}
