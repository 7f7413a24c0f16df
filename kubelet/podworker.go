package kubelet

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// Constants of pkg/kubelet/kubelet.go and pod_workers.go at v1.37.0.
const (
	syncFrequency = time.Minute // unless the configuration of the kubelet says otherwise
	backOffPeriod = 10 * time.Second
	// transientPeriod is for what may be over soon.
	transientPeriod = time.Second
	jitterFactor    = 0.5 // requeues are up to this part late

	requeueJitter choose.JitterSource = "requeue of pod " // drawn by the pod
)

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
