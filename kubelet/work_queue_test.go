package kubelet

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// The work queue behaves like a map from pods to times: the last time set for a pod counts, and the
// pod is due after that time (pkg/kubelet/util/queue/work_queue.go at v1.37.0).
func TestWorkQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, model := newWorkQueue(), map[types.UID]virtual.Time{}
		now := virtual.Time(0)
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				uid := types.UID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod"))
				at := now + virtual.Time(rapid.IntRange(0, 5).Draw(t, "in"))
				q.enqueue(uid, at)
				model[uid] = at
			},
			"take": func(t *rapid.T) {
				now += virtual.Time(rapid.IntRange(0, 3).Draw(t, "later"))
				var want []types.UID
				for uid, at := range model {
					if at < now {
						want = append(want, uid)
						delete(model, uid)
					}
				}
				if len(want) > 0 && !q.ready(now) {
					t.Fatalf("pods %v are due at %d, but ready returns false", want, now)
				}
				got := q.getWork(now)
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("getWork(%d) = %v, want %v", now, got, want)
				}
			},
		})
	})
}

// A pod becomes due a nanosecond after its time.
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
