package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// Periods of the sync loop (pkg/kubelet/kubelet.go at v1.37.0).
const (
	syncPeriod         = time.Second
	housekeepingPeriod = 2 * time.Second
	errorSleepBase     = 100 * time.Millisecond
	errorSleepMax      = 5 * time.Second
)

// startSyncLoop starts the process that everything comes together in. It takes one thing at a time; of
// several that are ready it takes any. While the runtime or the PLEG is not healthy, which it looks at after each thing,
// it sleeps and takes nothing, the first time right at the start (syncLoop in kubelet.go at v1.37.0).
func (k *Kubelet) startSyncLoop() {
	syncTicker := k.sim.NewTicker("sync ticker", syncPeriod)
	housekeeping := k.sim.NewTicker("housekeeping ticker", housekeepingPeriod)
	if !k.ticks {
		syncTicker.Unless(func() bool {
			return !k.workQueue.ready(k.sim.Now()) && !k.anyPastDeadline() && k.runtimeHealthy()
		})
	}
	cases := []sim.Case{
		sim.On(k.config, k.handleConfig),
		sim.On(k.pleg.events, k.handlePLEG),
		sim.OnTick(syncTicker, k.handleSyncTick),
		sim.On(k.results.Liveness.Updates(), k.handleLiveness),
		sim.On(k.results.Readiness.Updates(), k.handleReadiness),
		sim.On(k.results.Startup.Updates(), k.handleStartup),
		sim.OnTick(housekeeping, k.handleHousekeeping),
	}
	k.sim.Go("sync loop", func(p *sim.Proc) {
		sleep := errorSleepBase
		for {
			if !k.runtimeHealthy() {
				p.Sleep(sleep)
				sleep = min(2*sleep, errorSleepMax)
				continue
			}
			sleep = errorSleepBase
			p.Select(cases...)
		}
	})
}

// handleConfig does what a change of the wanted pods asks for (the Handle functions of kubelet.go at
// v1.37.0). Several are added in the order of their creation.
func (k *Kubelet) handleConfig(_ *sim.Proc, u configUpdate) {
	k.sourceReady = true
	if u.op == configAdd {
		slices.SortStableFunc(u.pods, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	}
	for _, pod := range u.pods {
		cause := k.causeOfConfig(u, pod)
		step := k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: string(u.op)}, cause)
		k.podManager.set(pod)
		if u.op != configAdd && u.op != configRemove && k.passesOver(pod) {
			continue
		}
		switch u.op {
		case configAdd:
			if k.admit(pod, step) {
				k.workers.update(podUpdate{typ: syncCreate, pod: pod, cause: step})
			}
		case configUpdated, configDelete:
			k.workers.update(podUpdate{typ: syncUpdate, pod: pod, cause: step})
		case configRemove:
			k.podManager.remove(pod.UID)
			delete(k.disk.admitted, pod.UID)
			k.workers.update(podUpdate{typ: syncKill, pod: pod, cause: step})
		case configReconcile:
			if status.NeedToReconcilePodReadiness(pod) {
				k.workers.update(podUpdate{typ: syncSync, pod: pod, cause: step})
			}
			if isEvicted(pod) {
				k.deletor.remove(k.cache.get(pod.UID), "", 0)
			}
		}
	}
}

func (k *Kubelet) handlePLEG(_ *sim.Proc, e plegEvent) {
	if pod, ok := k.podManager.GetPodByUID(e.uid); ok && e.typ != containerRemoved {
		cause := k.causeOfRelist(pod.UID)
		step := k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: "PLEG", Message: string(e.typ) + " " + e.id}, cause)
		k.workers.update(podUpdate{typ: syncSync, pod: pod, cause: step})
	}
	if e.typ == containerDied {
		k.deletor.cleanUp(e.uid, e.id)
	}
}

// handleSyncTick hands the pods whose time has come to their workers.
func (k *Kubelet) handleSyncTick(*sim.Proc) {
	due := k.withPastDeadline(k.workQueue.take(k.sim.Now()))
	choose.Shuffle(k.sim, "sync tick", due)
	for _, uid := range due {
		if pod, ok := k.podManager.GetPodByUID(uid); ok {
			cause := k.causeOfLastSync(uid)
			step := k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: "SYNC"}, cause)
			k.workers.update(podUpdate{typ: syncSync, pod: pod, cause: step})
		}
	}
}

// handleLiveness syncs a pod whose liveness probe has failed.
func (k *Kubelet) handleLiveness(p *sim.Proc, u results.Update) {
	if u.Result == results.Failure {
		k.handleProbe(p, u, "liveness")
	}
}

// handleReadiness stores the result of a readiness probe in the pod's status and syncs the pod.
func (k *Kubelet) handleReadiness(p *sim.Proc, u results.Update) {
	k.status.SetContainerReadiness(u.PodUID, u.ContainerID, u.Result == results.Success)
	k.handleProbe(p, u, "readiness")
}

// handleStartup stores the result of a startup probe in the pod's status and syncs the pod.
func (k *Kubelet) handleStartup(p *sim.Proc, u results.Update) {
	k.status.SetContainerStartup(u.PodUID, u.ContainerID, u.Result == results.Success)
	k.handleProbe(p, u, "startup")
}

// handleHousekeeping cleans up, once the API server has sent the pods of the node.
func (k *Kubelet) handleHousekeeping(p *sim.Proc) {
	if k.sourceReady {
		k.handlePodCleanups(p)
	}
}

// handleProbe syncs a pod whose probe result has changed.
func (k *Kubelet) handleProbe(p *sim.Proc, u results.Update, probe string) {
	if pod, ok := k.podManager.GetPodByUID(u.PodUID); ok {
		step := k.note(trace.Record{Kind: trace.SyncLoop, Cause: p.Cause(), Pod: podName(pod), Reason: probe, Message: u.Result.String()}, p.Cause())
		k.workers.update(podUpdate{typ: syncSync, pod: pod, cause: step})
	}
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
