package kubelet

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// The work queue behaves like a map from pods to times: the last time set for a pod counts, and a pod is due after
// its time, not at it (pkg/kubelet/util/queue/work_queue.go at v1.37.0).
func TestWorkQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, model := newWorkQueue(), map[types.UID]time.Duration{}
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				uid := types.UID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod"))
				at := now + time.Duration(rapid.IntRange(0, 5).Draw(t, "in"))
				q.enqueue(uid, virtual.At(at))
				model[uid] = at
			},
			"take": func(t *rapid.T) {
				now += time.Duration(rapid.IntRange(0, 3).Draw(t, "later"))
				var want []types.UID
				for uid, at := range model {
					if at < now {
						want = append(want, uid)
						delete(model, uid)
					}
				}
				if len(want) > 0 && !q.ready(virtual.At(now)) {
					t.Fatalf("pods %v are due at %d, but ready returns false", want, now)
				}
				got := q.getWork(virtual.At(now))
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("getWork(%d) = %v, want %v", now, got, want)
				}
			},
		})
	})
}

// A pod is not due at its time, but a nanosecond later.
func TestWorkQueueDueAfterTime(t *testing.T) {
	q := newWorkQueue()
	q.enqueue("a", 5)
	if q.ready(5) || q.getWork(5) != nil {
		t.Error("a pod is due at its time, want after it")
	}
	if !q.ready(6) || len(q.getWork(6)) != 1 || q.ready(7) {
		t.Error("a pod is not due after its time")
	}
}
