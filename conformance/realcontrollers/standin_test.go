package realcontrollers

import (
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/proof/search"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// standIn is a stand-in for the kubelet beside a server. It implements Pods.
type standIn struct {
	*Server
	mu    sync.Mutex // the lock of the server
	zero  time.Time  // t=0
	trace trace.Recorder

	log   sync.Mutex
	taken []search.Turn // the turns, in their order
}

func newStandIn(p profile.Profile, zero time.Time, ended <-chan struct{}) *standIn {
	k := &standIn{zero: zero, trace: trace.Recorder{Also: []trace.Kind{trace.SyncFailed}}}
	k.Server = NewServer(Cluster{
		Profile: p, Lock: &k.mu, Store: store.New(), Pods: k, Delays: controller.StandardDelays{},
		Wall: time.Now, Now: k.now, Ended: ended, Record: k.record, Turn: k.turn,
		At: func(t virtual.Time, do func()) { time.AfterFunc(t.Sub(k.now()), do) },
	})
	return k
}

// turn notes that a process of the simulator has a turn.
func (k *standIn) turn(process, point string) {
	k.log.Lock()
	defer k.log.Unlock()
	k.taken = append(k.taken, search.Turn{T: k.now(), Process: process, Point: point})
}

func (k *standIn) turnsList() []search.Turn {
	k.log.Lock()
	defer k.log.Unlock()
	return slices.Clone(k.taken)
}

func (k *standIn) now() virtual.Time { return virtual.At(time.Since(k.zero)) }

// record adds a record of now.
func (k *standIn) record(r trace.Record) {
	r.T = k.now()
	k.trace.Add(r)
}

func (k *standIn) CreatePod(pod *v1.Pod) error {
	c, err := k.Store.AddPod(pod, true, time.Now())
	if err == nil {
		k.record(PodAdded(pod))
		k.Publish(c)
	}
	return err
}

// BindPod starts the pod.
func (k *standIn) BindPod(old, pod *v1.Pod) {
	k.Publish(k.Store.PutPod(old, pod))
	k.become(store.Key(pod), 0)
}

// become writes the nth condition of a pod when it is due, unless the pod is deleted by then.
func (k *standIn) become(key string, n int) {
	c, ok := programOf(k.Store.Pod(key)).condition(n)
	if !ok {
		return
	}
	k.later(c.after, func() {
		k.turn("start "+strings.TrimPrefix(key, "default/"), "start")
		old := k.Store.Pod(key)
		if old == nil || old.DeletionTimestamp != nil {
			return
		}
		pod := *old
		pod.Status = c.status(old, time.Now())
		k.record(trace.Record{Kind: trace.StatusPatched, Pod: key, Status: apiserver.Observed(&pod)})
		k.Publish(k.Store.PutPod(old, &pod))
		k.become(key, n+1)
	})
}

// DeletePod stops a pod, or removes it at once if it has no grace period.
func (k *standIn) DeletePod(pod *v1.Pod, gracePeriodSeconds *int64) {
	key := store.Key(pod)
	switch c := k.Store.DeletePod(pod, gracePeriodSeconds, time.Now()); c.Type {
	case store.Deleted:
		k.record(trace.Record{Kind: trace.PodRemoved, Pod: key})
		k.Publish(c)
	case store.Modified:
		k.Publish(c)
		k.later(programOf(pod).stop, func() {
			k.turn("stop "+pod.Name, "stop")
			if left := k.Store.Pod(key); left != nil {
				k.DeletePod(left, new(int64))
			}
		})
	}
}
