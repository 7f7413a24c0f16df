package kubelet

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/queue"
	"probesim.dev/sim/virtual"
)

// workQueue holds the times of the next syncs of pods (pkg/kubelet/util/queue/work_queue.go at
// v1.37.0).
type workQueue struct {
	pods   map[types.UID]*queuedPod
	times  queue.Timed[*queuedPod]
	queued uint64 // number of pods ever queued
}

type queuedPod struct {
	uid    types.UID
	number uint64 // rank in the order of queueing, which later changes of the time keep
	set    uint64 // ticket of the pod in times
}

func newWorkQueue() *workQueue {
	return &workQueue{
		pods:  map[types.UID]*queuedPod{},
		times: queue.Timed[*queuedPod]{Waits: func(pod *queuedPod, set uint64) bool { return pod.set == set }},
	}
}

// enqueue sets the time of the next sync of a pod, in place of an earlier setting.
func (q *workQueue) enqueue(uid types.UID, t virtual.Time) {
	pod, ok := q.pods[uid]
	if !ok {
		q.queued++
		pod = &queuedPod{uid: uid, number: q.queued}
		q.pods[uid] = pod
	} else {
		pod.set = 0
		q.times.Forget()
	}
	pod.set = q.times.Push(t, pod)
}

// ready reports whether a pod is due. A pod becomes due a nanosecond after its time.
func (q *workQueue) ready(now virtual.Time) bool {
	_, at, ok := q.times.Next()
	return ok && at < now
}

// getWork removes and returns the pods that are due, in the order in which they were first queued.
func (q *workQueue) getWork(now virtual.Time) []types.UID {
	var due []*queuedPod
	for pod, ok := q.times.Pop(now - 1); ok; pod, ok = q.times.Pop(now - 1) {
		pod.set = 0
		delete(q.pods, pod.uid)
		due = append(due, pod)
	}
	slices.SortFunc(due, func(a, b *queuedPod) int { return cmp.Compare(a.number, b.number) })
	var uids []types.UID
	for _, pod := range due {
		uids = append(uids, pod.uid)
	}
	return uids
}
