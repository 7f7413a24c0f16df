package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// The delays of the next sync of a pod after a failed one (pkg/kubelet/pod_workers.go and
// kubelet.go at v1.37.0).
const (
	backOffPeriod   = 10 * time.Second
	transientPeriod = time.Second // while the network is not ready
	jitterFactor    = 0.5         // a random delay adds up to this fraction

	// RequeueJitter lengthens the time until the next sync of a pod. Each pod draws its own.
	RequeueJitter choose.JitterSource = "requeue of pod "
)

// updateType says why a pod is handed to its worker (SyncPodType in pkg/kubelet/types/pod_update.go
// at v1.37.0).
type updateType string

const (
	syncCreate updateType = "create"
	syncUpdate updateType = "update"
	syncSync   updateType = "sync"
	syncKill   updateType = "kill"
)

// workType is the phase that a pod worker is in (PodWorkerState in pkg/kubelet/pod_workers.go at
// v1.37.0).
type workType string

const (
	workSync        workType = "sync"
	workTerminating workType = "terminating"
	workTerminated  workType = "terminated"
)

// mark writes the reason for a termination into the status of the pod (PodStatusFunc in
// pkg/kubelet/pod_workers.go at v1.37.0).
type mark func(*v1.Pod, *v1.PodStatus)

// podUpdate tells a pod worker what to do (UpdatePodOptions in pkg/kubelet/pod_workers.go at
// v1.37.0).
type podUpdate struct {
	typ    updateType
	pod    *v1.Pod
	mirror *v1.Pod // the mirror pod of a static pod; nil if there is none
	grace  *int64  // grace period in seconds; set once the pod terminates
	evict  bool    // the pod is evicted
	mark   mark    // writes the reason of a kill into the status; may be nil
	cause  int64   // step of the trace record that caused the update

	again     bool            // a sync hands in its own update again, with the mirror pod that it knows
	completed *killCompletion // of a kill by the kubelet; nil if nobody waits
}

// podWorker is the state of a pod from its first sync to its end, and the process that syncs it
// (podSyncStatus in pkg/kubelet/pod_workers.go at v1.37.0).
type podWorker struct {
	uid    types.UID
	name   string      // namespace/name
	orphan *runtimePod // the pod in the runtime, if only the runtime knows the pod
	wake   *sim.Chan[struct{}]
	closed bool // tells the process to end

	canceled bool       // the context of the syncs is canceled
	mounting *sim.Proc  // the process while it waits for volumes
	pending  *podUpdate // the newest update, which replaces older ones
	active   *podUpdate // the update of the present or the last sync

	started          bool
	restartRequested bool              // the pod has come again with the same UID
	terminating      bool              // termination was requested
	terminated       bool              // all containers have stopped
	finished         bool              // the worker has nothing left to do
	deleted          bool              // the pod was deleted in the API
	evicted          bool              // an eviction started the termination
	evictedToo       bool              // the pod was evicted, possibly after the termination had started
	mark             mark              // writes the reason of the termination into the next status
	notifyTerminated []*killCompletion // kills that wait until the pod has terminated
	kills            int               // calls of killPodNow
	gracePeriod      int64
	cause            int64 // step of the trace record that caused the termination
}

// work returns the phase of the worker (WorkType in pkg/kubelet/pod_workers.go at v1.37.0).
func (w *podWorker) work() workType {
	switch {
	case w.terminated:
		return workTerminated
	case w.terminating:
		return workTerminating
	}
	return workSync
}

// podWorkers has a worker for each pod (pkg/kubelet/pod_workers.go at v1.37.0).
type podWorkers struct {
	k       *Kubelet
	workers map[types.UID]*podWorker
	order   []types.UID // UIDs of the workers, oldest first
	synced  bool        // housekeeping has run once

	// The static pod of each name that has started, and those that wait until it has terminated,
	// oldest first. The names are namespace/name.
	startedStatic map[string]types.UID
	waitingStatic map[string][]types.UID
}

func newPodWorkers(k *Kubelet) *podWorkers {
	return &podWorkers{
		k: k, workers: map[types.UID]*podWorker{}, startedStatic: map[string]types.UID{},
		waitingStatic: map[string][]types.UID{},
	}
}

// couldHaveRunningContainers reports whether containers of the pod may be running. It is true for
// unknown pods until the first housekeeping.
func (p *podWorkers) couldHaveRunningContainers(uid types.UID) bool {
	if w, ok := p.workers[uid]; ok {
		return !w.terminated
	}
	return !p.synced
}

// shouldContentBeRemoved reports whether all dead containers of the pod can be removed: the pod was
// evicted, or it was deleted and has terminated (ShouldPodContentBeRemoved in
// pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) shouldContentBeRemoved(uid types.UID) bool {
	if w, ok := p.workers[uid]; ok {
		return w.evicted || w.deleted && w.terminated
	}
	return p.synced
}

// updatePod hands an update to the worker of the pod, and starts a worker if there is none. Once a
// pod terminates, every update is a kill, and the grace period can only become shorter (UpdatePod
// in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) updatePod(u podUpdate) {
	u.cause = p.k.sim.Cause()
	w, known := p.workers[u.pod.UID]
	if !known {
		p.k.sim.Turn("sync loop", newPod)
		w = p.newWorker(u.pod)
		if status.IsTerminal(u.pod.Status.Phase) && p.k.cache.get(u.pod.UID).ended() {
			w.terminating, w.terminated = true, true
		}
	} else if w.terminating && u.typ == syncCreate || w.finished {
		w.restartRequested = w.restartRequested || u.typ == syncCreate
		return
	}
	if u.mirror == nil && !u.again {
		u.mirror, _ = p.k.podManager.GetMirrorPodByPod(u.pod)
	}
	was := w.terminating
	if !was {
		w.deleted = u.pod.DeletionTimestamp != nil
		w.evicted = u.evict && !w.deleted && !status.IsTerminal(u.pod.Status.Phase)
		w.terminating = w.deleted || status.IsTerminal(u.pod.Status.Phase) || u.typ == syncKill
		w.cause = u.cause
	}
	w.evictedToo = w.evictedToo || u.evict
	if u.mark != nil && w.terminating && !w.terminated {
		w.mark = u.mark
	}
	shortened := false
	if u.completed != nil {
		if w.terminated {
			u.completed.ok = true
		} else {
			w.notifyTerminated = append(w.notifyTerminated, u.completed)
		}
	}
	if w.terminating && !w.terminated {
		grace := calculateEffectiveGracePeriod(w.gracePeriod, u.pod, u.grace)
		shortened = w.gracePeriod != 0 && w.gracePeriod != grace
		w.gracePeriod, u.grace = grace, &grace
	}
	p.startWorker(w, u.pod)
	u.pod, _ = p.k.allocations.updatePod(u.pod)
	w.pending = &u
	w.wake.TrySend(struct{}{})
	if w.terminating && !was || shortened {
		p.cancel(w)
	}
}

// cancel cancels the context of the pod's syncs. A worker that waits for volumes stops waiting. In
// some versions, probes that run in this context are canceled too. The context of a pod that
// terminates by itself is canceled only when its grace period becomes shorter (UpdatePod and
// completeSync in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) cancel(w *podWorker) {
	w.canceled = true
	w.stopMounting()
	if p.k.profile.TerminationCancelsProbes {
		p.k.runtime.CancelProbes(string(w.uid))
	}
}

// canceled reports whether the context of the pod's syncs is canceled.
func (p *podWorkers) canceled(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && w.canceled
}

// startWorker starts the process of a worker, if it does not run yet.
func (p *podWorkers) startWorker(w *podWorker, pod *v1.Pod) {
	if w.wake == nil {
		w.wake = sim.NewChan[struct{}](p.k.sim, "updates of pod "+w.name, 1)
		if podutil.IsStatic(pod) {
			p.waitingStatic[w.name] = append(p.waitingStatic[w.name], w.uid)
		}
		p.k.sim.Go("pod worker "+w.name, func(proc *sim.Proc) { p.podWorkerLoop(proc, w) })
	}
}

// newPod is the turn of the sync loop at which the workers hear of a pod for the first time.
const newPod = "new pod"

// newWorker adds a worker for a pod, without a process.
func (p *podWorkers) newWorker(pod *v1.Pod) *podWorker {
	w := &podWorker{uid: pod.UID, name: pod.Namespace + "/" + pod.Name}
	p.workers[w.uid] = w
	p.order = append(p.order, w.uid)
	return w
}

// calculateEffectiveGracePeriod returns the grace period of a terminating pod in seconds, at least
// 1. It is the shortest of three: the known grace period, the grace period of the deletion, and the
// one that the kubelet asks for. If none of them is set, it is the pod's own (function of that name
// in pkg/kubelet/pod_workers.go at v1.37.0).
func calculateEffectiveGracePeriod(known int64, pod *v1.Pod, asked *int64) int64 {
	grace, overridden := known, false
	for _, override := range []*int64{pod.DeletionGracePeriodSeconds, asked} {
		if override != nil && (grace == 0 || *override < grace) {
			grace, overridden = *override, true
		}
	}
	if !overridden && grace == 0 && pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return max(grace, 1)
}

// requeueLastPodUpdate makes the worker sync with its last update again, unless a newer update
// waits (function of that name in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) requeueLastPodUpdate(w *podWorker) {
	if w.pending != nil || w.active == nil {
		return
	}
	u := *w.active
	w.pending = &u
	w.wake.TrySend(struct{}{})
}

// syncKnownPods removes the workers of pods that have finished, if the pods are no longer desired
// or have come again with the same UID. Workers of pods that are no longer desired and have not
// finished terminate them (SyncKnownPods in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) syncKnownPods(desired func(types.UID) bool) {
	p.synced = true
	kept := p.order[:0]
	for _, uid := range p.order {
		w := p.workers[uid]
		if desired(uid) && !w.restartRequested || !p.removeTerminatedWorker(w, !desired(uid)) {
			kept = append(kept, uid)
		}
	}
	p.order = kept
}

// areKnown reports whether syncKnownPods would change nothing.
func (p *podWorkers) areKnown(desired func(types.UID) bool) bool {
	return p.synced && !slices.ContainsFunc(p.order,
		func(uid types.UID) bool { return !desired(uid) || p.workers[uid].restartRequested })
}

// forget removes a worker whose process has ended or is about to end.
func (p *podWorkers) forget(w *podWorker) {
	delete(p.workers, w.uid)
	delete(p.k.disk.cgroups, w.uid)
	if !p.k.profile.InspectReadsResources {
		delete(p.k.disk.actuated, w.uid)
	}
	p.releaseName(w)
}

// removeTerminatedWorker removes the worker of a pod that has finished. An orphaned pod is no
// longer desired: its worker terminates it. It reports whether the worker is gone (function of that
// name in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) removeTerminatedWorker(w *podWorker, orphaned bool) bool {
	if !w.finished {
		if !orphaned {
			return false
		}
		w.deleted = true
		if w.started {
			if !w.terminating {
				w.terminating, w.cause = true, w.active.cause
				w.gracePeriod = calculateEffectiveGracePeriod(w.gracePeriod, w.active.pod, nil)
			}
			p.requeueLastPodUpdate(w)
			return false
		}
		w.closed = true
		w.wake.TrySend(struct{}{})
	}
	p.forget(w)
	return true
}

// couldBeProbed reports whether the pod has a worker and may have running containers.
func (p *podWorkers) couldBeProbed(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && !w.terminated
}

// terminateRuntimePod starts a worker that terminates a pod that only the runtime knows.
func (p *podWorkers) terminateRuntimePod(r *runtimePod) {
	pod := r.toAPIPod()
	w := p.newWorker(pod)
	w.orphan, w.deleted, w.terminating = r, true, true
	w.pending = &podUpdate{typ: syncKill, pod: pod, cause: p.k.started}
	p.startWorker(w, pod)
	w.wake.TrySend(struct{}{})
}

// podWorkerLoop is the process of a pod worker. It waits for an update, then for a pod status that
// the PLEG has read after the last sync, and then syncs, terminates or cleans up the pod
// (podWorkerLoop in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) podWorkerLoop(proc *sim.Proc, w *podWorker) {
	lastSync := never
	for {
		w.wake.Recv(proc)
		if w.closed {
			return
		}
		if w.pending == nil {
			continue
		}
		if w.orphan != nil {
			if p.syncTerminatingRuntimePod(proc, w) {
				return
			}
			continue
		}
		if !w.started && podutil.IsStatic(w.pending.pod) {
			if w.terminating {
				w.terminated, w.finished = true, true
				p.k.volumes.forget(w.pending.pod)
				p.releaseName(w)
				return
			}
			if !p.allowStaticPodStart(w) {
				w.wake.TryRecv()
				p.k.workQueue.enqueue(w.uid, proc.Now().Add(p.jitter(w, backOffPeriod)))
				continue
			}
		}
		u, work := p.startPodSync(proc, w)
		p.k.sim.Turn(proc.Name(), "begin")
		podStatus := p.k.cache.getNewerThan(proc, w.uid, lastSync)
		proc.SetCause(p.k.note(trace.Record{Kind: trace.PodSync, Cause: proc.Cause(), Pod: w.name,
			Reason: string(work)}, proc.Cause()))
		did := syncResult{err: podStatus.err != nil}
		if did.err {
			p.k.podEvent(u.pod, v1.EventTypeWarning, "FailedSync",
				fmt.Sprintf("error determining status: %v", podStatus.err))
		} else {
			p.k.sim.Turn(proc.Name(), "enter")
			did = p.syncWork(proc, w, u, work, podStatus)
			// The relist that this sync requests can have the timestamp of this instant, and must
			// count as newer.
			lastSync = proc.Now().Add(-time.Nanosecond)
		}
		if did.relist {
			p.k.pleg.requestRelist(w.uid)
		}
		proc.Preempt("pod synced, work not completed")
		if work == workTerminated && !did.err {
			w.finished = true
			p.releaseName(w)
			return
		}
		p.completeWork(proc, w, work, did)
		p.k.sim.Turn(proc.Name(), "done")
	}
}

// allowStaticPodStart reports whether a static pod can start: only one pod of a name runs at a
// time. The pods start in the order in which they came, and those that terminate before their turn
// never start (function of that name in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) allowStaticPodStart(w *podWorker) bool {
	if started, ok := p.startedStatic[w.name]; ok {
		return started == w.uid
	}
	waiting := p.waitingStatic[w.name]
	for i, uid := range waiting {
		if other, ok := p.workers[uid]; !ok || other.terminating {
			continue
		}
		if uid != w.uid {
			p.waitingStatic[w.name] = waiting[i:]
			return false
		}
		waiting = waiting[i+1:]
		break
	}
	p.waitingStatic[w.name], p.startedStatic[w.name] = waiting, w.uid
	return true
}

// releaseName lets the next static pod of the same name start.
func (p *podWorkers) releaseName(w *podWorker) {
	if p.startedStatic[w.name] == w.uid {
		delete(p.startedStatic, w.name)
	}
}

// isPodForMirrorPodTerminating reports whether the static pod of this namespace/name terminates
// (IsPodForMirrorPodTerminatingByFullName in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) isPodForMirrorPodTerminating(name string) bool {
	w := p.workers[p.startedStatic[name]]
	return w != nil && w.terminating && !w.terminated
}

// startPodSync makes the pending update the active one and returns it (function of that name in
// pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) startPodSync(proc *sim.Proc, w *podWorker) (podUpdate, workType) {
	u := *w.pending
	w.pending = nil
	w.wake.TryRecv()
	proc.SetCause(u.cause)
	w.started = true
	active := u
	if active.grace == nil && w.active != nil {
		active.grace = w.active.grace
	}
	w.active = &active
	return u, w.work()
}

// syncResult is the outcome of a sync.
type syncResult struct {
	terminal bool          // the pod has reached a terminal phase
	relist   bool          // containers changed, so the pod needs a relist
	reset    bool          // containers were removed for an in-place restart
	err      bool          // the sync failed
	expires  *virtual.Wall // earliest end of a back-off, in wall-clock time; nil for none
	network  bool          // the sync failed because the network is not ready
	resize   error         // why the resources of the pod could not be changed; nil if they could
}

// syncWork calls the sync function of the worker's phase.
func (p *podWorkers) syncWork(proc *sim.Proc, w *podWorker, u podUpdate, work workType, s *podStatus) syncResult {
	switch work {
	case workTerminated:
		p.k.syncTerminatedPod(proc, w, u, s)
	case workTerminating:
		return syncResult{err: !p.k.syncTerminatingPod(proc, w, u, s)}
	default:
		return p.k.syncPod(proc, w, u, s)
	}
	return syncResult{}
}

// completeWork moves the worker to its next phase and queues the next sync. If an update is
// pending, the worker syncs it immediately (completeWork in pkg/kubelet/pod_workers.go at v1.37.0).
func (p *podWorkers) completeWork(proc *sim.Proc, w *podWorker, work workType, did syncResult) {
	delay := time.Duration(0)
	switch {
	case work == workTerminating && !did.err:
		w.terminated, w.mark = true, nil
		p.k.volumes.unmount(w.active.pod)
		for _, kill := range w.notifyTerminated {
			kill.complete()
		}
		w.notifyTerminated = nil
		p.requeueLastPodUpdate(w)
	case did.terminal:
		w.terminating = true
		p.requeueLastPodUpdate(w)
	default:
		delay = p.jitter(w, p.requeueDelay(did))
	}
	p.k.workQueue.enqueue(w.uid, proc.Now().Add(delay))
	if w.pending != nil {
		w.wake.TrySend(struct{}{})
	}
}

// requeueDelay returns the time until the next sync of a pod without updates, before jitter.
func (p *podWorkers) requeueDelay(did syncResult) time.Duration {
	resync := cmp.Or(p.k.settings.SyncFrequency, syncFrequency)
	switch {
	case !did.err:
		return resync
	case did.network:
		return transientPeriod
	case !p.k.profile.RequeueAtBackOffExpiry:
		return backOffPeriod
	case did.expires != nil:
		// The clock of the pod workers is a nanosecond behind, as for lastSync in podWorkerLoop.
		return min(max(time.Nanosecond-p.k.since(*did.expires), 0), resync)
	}
	return min(backOffPeriod, resync)
}

// jitter lengthens the delay of a requeue by up to a half.
func (p *podWorkers) jitter(w *podWorker, d time.Duration) time.Duration {
	return d + time.Duration(p.k.sim.Fraction(RequeueJitter, w.name)*jitterFactor*float64(d))
}

// The timeout of killPodNow (pkg/kubelet/pod_workers.go at v1.37.0).
const (
	minKillTimeout     = int64(10) // seconds
	killTimeoutMessage = "Container runtime did not kill the pod within specified grace period."
)

// podKill describes a pod that the kubelet itself terminates.
type podKill struct {
	pod   *v1.Pod
	grace int64 // seconds
	evict bool
	mark  mark
}

// killPodNow terminates a pod. It calls done when the containers have stopped. If they have not
// stopped after 1.5 times the grace period, it records an event and calls done. The name says which
// part of the kubelet kills the pod (killPodNow in pkg/kubelet/pod_workers.go at v1.37.0).
func (k *Kubelet) killPodNow(name string, kill podKill, done func(*sim.Proc)) {
	completed := &killCompletion{}
	k.workers.updatePod(podUpdate{typ: syncKill, pod: kill.pod, grace: &kill.grace, evict: kill.evict, mark: kill.mark,
		completed: completed})
	timeout := max(kill.grace+kill.grace/2, minKillTimeout)
	name += " of pod " + podName(kill.pod)
	if w, ok := k.workers.workers[kill.pod.UID]; ok {
		if w.kills++; w.kills > 1 {
			name += " " + strconv.Itoa(w.kills) // a name of its own: several kills of a pod can wait at the same time
		}
	}
	k.sim.Go(name, func(p *sim.Proc) {
		if !completed.wait(p, afterSeconds(p.Now(), timeout)) {
			k.podEvent(kill.pod, v1.EventTypeWarning, "ExceededGracePeriod", killTimeoutMessage)
		}
		done(p)
	})
}

// killCompletion says when the containers of a pod that the kubelet kills have stopped. A pod that
// never started does not complete its kill: nobody closes the channel of a kill then (CompletedCh
// and cleanupUnstartedPod in pkg/kubelet/pod_workers.go at v1.37.0).
type killCompletion struct {
	ok     bool
	waiter *sim.Proc // the process that waits; nil if there is none
}

// wait waits until the kill has completed, and reports whether that happened before the deadline.
func (c *killCompletion) wait(p *sim.Proc, deadline virtual.Time) bool {
	if !c.ok {
		c.waiter = p
		p.WakeAt(deadline)
		p.Park()
		c.waiter = nil
	}
	return c.ok
}

func (c *killCompletion) complete() {
	c.ok = true
	if c.waiter != nil {
		c.waiter.Interrupt()
	}
}

// priorityOf returns the priority of a pod, 0 if it has none.
func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// setDisruptionTarget adds the condition DisruptionTarget to a pod that the kubelet terminates.
func setDisruptionTarget(pod *v1.Pod, s *v1.PodStatus, reason, message string) {
	s.Reason, s.Message = reason, message
	status.SetCondition(s, v1.PodCondition{
		Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
		Reason: v1.PodReasonTerminationByKubelet, Message: message,
	})
}
