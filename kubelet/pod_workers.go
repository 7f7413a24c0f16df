package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// How soon a pod is synced again after a sync that failed (pkg/kubelet/pod_workers.go and kubelet.go at v1.37.0).
const (
	backOffPeriod   = 10 * time.Second
	transientPeriod = time.Second // while the network is not ready
	jitterFactor    = 0.5         // requeues are up to this part late

	requeueJitter choose.JitterSource = "requeue of pod " // drawn by the pod
)

// updateType says why a pod is handed to its worker.
type updateType string

const (
	syncCreate updateType = "create"
	syncUpdate updateType = "update"
	syncSync   updateType = "sync"
	syncKill   updateType = "kill"
)

// workType is what a worker does with its pod.
type workType string

const (
	workSync        workType = "sync"
	workTerminating workType = "terminating"
	workTerminated  workType = "terminated"
)

// mark writes into the status of a pod that begins to terminate why it does.
type mark func(*v1.Pod, *v1.PodStatus)

// podUpdate is what a worker is asked to do next.
type podUpdate struct {
	typ   updateType
	pod   *v1.Pod
	grace *int64 // seconds to terminate in; set once the pod is terminating
	evict bool   // of a kill: for want of memory
	mark  mark   // of a kill: what the status is to say; nil if nothing
	cause int64  // step of the trace record that led to it
}

// podWorker is what is known of a pod's way from its first sync to its end, and the process that syncs it
// (podSyncStatus in pkg/kubelet/pod_workers.go at v1.37.0).
type podWorker struct {
	uid    types.UID
	name   string      // namespace/name
	orphan *runtimePod // what the runtime has of a pod that the kubelet knows nothing else of
	wake   *sim.Chan[struct{}]
	closed bool // the process is to end

	canceled bool       // the context of its syncs was canceled: the pod was asked to terminate, or to be quicker
	mounting *sim.Proc  // waits for volumes
	pending  *podUpdate // the newest update; those before it are not synced
	active   *podUpdate // the last one that the process took

	started     bool
	terminating bool        // it has been asked to terminate
	terminated  bool        // none of its containers runs
	finished    bool        // nothing is left to do
	deleted     bool        // it was deleted from the API
	evicted     bool        // it terminates because it was evicted
	evictedToo  bool        // it was evicted, if only when it terminated already
	mark        mark        // what its next status as a terminating pod is to say
	killers     []*sim.Proc // wait until none of its containers runs
	gracePeriod int64
	cause       int64 // step of the trace record that has it terminate
}

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
	order   []types.UID // of workers, oldest first
	synced  bool        // housekeeping has run once
}

func newPodWorkers(k *Kubelet) *podWorkers {
	return &podWorkers{k: k, workers: map[types.UID]*podWorker{}}
}

// couldHaveRunningContainers reports whether a container of the pod may run.
func (p *podWorkers) couldHaveRunningContainers(uid types.UID) bool {
	if w, ok := p.workers[uid]; ok {
		return !w.terminated
	}
	return !p.synced
}

// shouldContentBeRemoved reports whether the pod is evicted, or deleted and has come to its end, so that what is
// left of its containers can go.
func (p *podWorkers) shouldContentBeRemoved(uid types.UID) bool {
	if w, ok := p.workers[uid]; ok {
		return w.evicted || w.deleted && w.terminated
	}
	return p.synced
}

// update hands an update to the pod's worker and makes the worker if there is none. Once a pod is
// terminating every update is a kill, and the grace period can only become shorter.
func (p *podWorkers) update(u podUpdate) {
	w, known := p.workers[u.pod.UID]
	if !known {
		w = p.newWorker(u.pod)
		if status.IsTerminal(u.pod.Status.Phase) && p.k.cache.get(u.pod.UID).ended() {
			w.terminating, w.terminated = true, true
		}
	} else if w.terminating && u.typ == syncCreate || w.finished {
		return
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
	if w.terminating && !w.terminated {
		grace := effectiveGracePeriod(w.gracePeriod, u.pod, u.grace)
		shortened = w.gracePeriod != 0 && w.gracePeriod != grace
		w.gracePeriod, u.grace = grace, &grace
	}
	p.startWorker(w)
	w.pending = &u
	w.wake.TrySend(struct{}{})
	if w.terminating && !was || shortened {
		p.cancel(w)
	}
}

// cancel cancels the context of the pod's syncs, in which a worker waits for volumes. Probe workers that were
// made in it may have it too. A pod that has come to its end by itself is not asked to terminate: it keeps its context until
// somebody shortens its grace period (UpdatePod and completeSync in pod_workers.go at v1.37.0).
func (p *podWorkers) cancel(w *podWorker) {
	w.canceled = true
	w.stopMounting()
	if p.k.profile.TerminationCancelsProbes {
		p.k.runtime.CancelProbes(string(w.uid))
	}
}

// canceled reports whether the context of the pod's syncs was canceled.
func (p *podWorkers) canceled(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && w.canceled
}

// startWorker starts the worker's process if that has not been done.
func (p *podWorkers) startWorker(w *podWorker) {
	if w.wake == nil {
		w.wake = sim.NewChan[struct{}](p.k.sim, "updates of pod "+w.name, 1)
		p.k.sim.Go("pod worker "+w.name, func(proc *sim.Proc) { p.loop(proc, w) })
	}
}

func (p *podWorkers) newWorker(pod *v1.Pod) *podWorker {
	w := &podWorker{uid: pod.UID, name: pod.Namespace + "/" + pod.Name}
	p.workers[w.uid] = w
	p.order = append(p.order, w.uid)
	return w
}

// effectiveGracePeriod returns the shortest of what was known and what the API server or the kubelet
// ask for, else the pod's own; at least one second (calculateEffectiveGracePeriod in pod_workers.go
// at v1.37.0).
func effectiveGracePeriod(known int64, pod *v1.Pod, asked *int64) int64 {
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

// requeueLast has the worker sync once more with what it had last, unless an update waits.
func (p *podWorkers) requeueLast(w *podWorker) {
	if w.pending != nil || w.active == nil {
		return
	}
	u := *w.active
	w.pending = &u
	w.wake.TrySend(struct{}{})
}

// syncKnownPods forgets the workers of pods that are not desired any more and have finished. A worker of such a pod that
// has not finished terminates it (SyncKnownPods in pod_workers.go at v1.37.0).
func (p *podWorkers) syncKnownPods(desired func(types.UID) bool) {
	p.synced = true
	kept := p.order[:0]
	for _, uid := range p.order {
		if desired(uid) || !p.removeTerminated(p.workers[uid]) {
			kept = append(kept, uid)
		}
	}
	p.order = kept
}

// forget is told that a worker has ended, or will before it does anything.
func (p *podWorkers) forget(w *podWorker) {
	delete(p.workers, w.uid)
}

func (p *podWorkers) removeTerminated(w *podWorker) bool {
	if !w.finished {
		w.deleted = true
		if w.started {
			if !w.terminating {
				w.terminating, w.cause = true, w.active.cause
				w.gracePeriod = effectiveGracePeriod(w.gracePeriod, w.active.pod, nil)
			}
			p.requeueLast(w)
			return false
		}
		w.closed = true
		w.wake.TrySend(struct{}{})
	}
	p.forget(w)
	return true
}

// couldBeProbed reports whether a container of the pod may run as far as its worker knows.
func (p *podWorkers) couldBeProbed(uid types.UID) bool {
	w, ok := p.workers[uid]
	return ok && !w.terminated
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

// loop is the life of a pod worker's process: wait for an update, then for a status from the PLEG that
// is newer than the end of the last sync, then sync, terminate or clean up.
func (p *podWorkers) loop(proc *sim.Proc, w *podWorker) {
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
			if p.terminateOrphan(proc, w) {
				return
			}
			continue
		}
		u, work := p.take(w)
		podStatus := p.k.cache.getNewerThan(proc, w.uid, lastSync)
		u.cause = p.k.note(trace.Record{Kind: trace.PodSync, Cause: u.cause, Pod: w.name, Reason: string(work)}, u.cause)
		did := syncResult{err: podStatus.err != nil}
		if did.err {
			p.k.podEvent(u.pod, v1.EventTypeWarning, "FailedSync", fmt.Sprintf("error determining status: %v", podStatus.err), u.cause)
		} else {
			did = p.sync(proc, w, u, work, podStatus)
			// The relist that is asked for next takes its time stamp after this one.
			lastSync = proc.Now() - time.Nanosecond
		}
		if did.relist {
			p.k.pleg.requestRelist(w.uid)
		}
		proc.Preempt("pod synced, work not completed")
		if work == workTerminated && !did.err {
			w.finished = true
			return
		}
		p.complete(proc, w, work, did)
	}
}

// take moves the pending update to the active one.
func (p *podWorkers) take(w *podWorker) (podUpdate, workType) {
	u := *w.pending
	w.pending = nil
	w.wake.TryRecv()
	w.started = true
	active := u
	if active.grace == nil && w.active != nil {
		active.grace = w.active.grace
	}
	w.active = &active
	return u, w.work()
}

// syncResult is what came of a sync.
type syncResult struct {
	terminal bool           // the pod has come to its end by itself
	relist   bool           // containers were touched: the pod is to be relisted at once
	reset    bool           // containers were removed so that all of them start anew
	err      bool           // something could not be done
	expires  *time.Duration // when the back-off ends that was in the way, if one was, by the wall clock
	network  bool           // because there is no network
}

func (p *podWorkers) sync(proc *sim.Proc, w *podWorker, u podUpdate, work workType, s *podStatus) syncResult {
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

// complete moves the pod on to its next state, requeues it, and has a pending update synced right away
// (completeWork in pod_workers.go at v1.37.0).
func (p *podWorkers) complete(proc *sim.Proc, w *podWorker, work workType, did syncResult) {
	delay := time.Duration(0)
	switch {
	case work == workTerminating && !did.err:
		w.terminated, w.mark = true, nil
		p.k.volumes.unmount(w.active.pod)
		w.tellKillers()
		p.requeueLast(w)
	case did.terminal:
		w.terminating = true
		p.requeueLast(w)
	default:
		delay = p.jitter(w, p.untilRequeue(did))
	}
	p.k.workQueue.enqueue(w.uid, proc.Now()+delay)
	if w.pending != nil {
		w.wake.TrySend(struct{}{})
	}
}

// untilRequeue returns after which time the pod is synced even if nothing happens.
func (p *podWorkers) untilRequeue(did syncResult) time.Duration {
	resync := cmp.Or(p.k.settings.SyncFrequency, syncFrequency)
	switch {
	case !did.err:
		return resync
	case did.network:
		return transientPeriod
	case did.expires != nil && p.k.profile.RequeueAtBackOffExpiry:
		// The pod workers' clock runs a nanosecond behind: see loop.
		return min(max(time.Nanosecond-p.k.since(*did.expires), 0), resync)
	}
	return backOffPeriod
}

func (p *podWorkers) jitter(w *podWorker, d time.Duration) time.Duration {
	return d + time.Duration(p.k.sim.Fraction(requeueJitter, w.name)*jitterFactor*float64(d))
}

// Of killPodNow in pkg/kubelet/pod_workers.go at v1.37.0.
const (
	minKillTimeout     = int64(10) // seconds
	killTimeoutMessage = "Container runtime did not kill the pod within specified grace period."
)

// podKill is what the kubelet itself wants of a pod that is to end.
type podKill struct {
	pod   *v1.Pod
	grace int64 // seconds
	evict bool
	mark  mark
	cause int64
}

// killPodNow has a pod end, and then, or when it takes too long, which leaves an event, calls done. The name is that of
// who kills it.
func (k *Kubelet) killPodNow(name string, kill podKill, done func(*sim.Proc)) {
	k.workers.update(podUpdate{typ: syncKill, pod: kill.pod, grace: &kill.grace, evict: kill.evict, mark: kill.mark, cause: kill.cause})
	timeout := max(kill.grace+kill.grace/2, minKillTimeout)
	k.sim.Go(name+" of pod "+podName(kill.pod), func(p *sim.Proc) {
		if w, ok := k.workers.workers[kill.pod.UID]; ok && !w.waitUntilTerminated(p, afterSeconds(p.Now(), timeout)) {
			k.podEvent(kill.pod, v1.EventTypeWarning, "ExceededGracePeriod", killTimeoutMessage, kill.cause)
		}
		done(p)
	})
}

// waitUntilTerminated waits until none of the pod's containers runs, and reports whether that was so before the deadline.
func (w *podWorker) waitUntilTerminated(p *sim.Proc, deadline time.Duration) bool {
	if w.terminated {
		return true
	}
	w.killers = append(w.killers, p)
	p.WakeAt(deadline)
	p.Park()
	w.killers = slices.DeleteFunc(w.killers, func(k *sim.Proc) bool { return k == p })
	return w.terminated
}

// tellKillers wakes those who wait until the pod has terminated.
func (w *podWorker) tellKillers() {
	for _, p := range w.killers {
		p.Interrupt()
	}
}

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// setDisrupted says in the status of a pod why the kubelet ends it.
func setDisrupted(pod *v1.Pod, s *v1.PodStatus, reason, message string) {
	s.Reason, s.Message = reason, message
	status.SetCondition(s, v1.PodCondition{
		Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
		Reason: v1.PodReasonTerminationByKubelet, Message: message,
	})
}
