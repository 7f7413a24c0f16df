package kubelet

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"probesim.dev/sim"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

// A pod worker that asks for a status newer than a time gets one at once only if what is known is newer,
// not as new. Once it waits, as new will do (getIfNewerThan and notify in pkg/kubelet/container/cache.go).
func TestNewerThan(t *testing.T) {
	const asked = 10 * time.Second
	before, same, after := asked-1, asked, asked+1
	for _, c := range []struct {
		name  string
		known func(*podCache) // before the worker asks
		later func(*podCache) // at 1 s
		want  string
	}{
		{"nothing is known", nil, nil, "waits for ever"},
		{"older", func(c *podCache) { c.set("a", &podStatus{}, before); c.updateTime(before) }, nil, "waits for ever"},
		{"as new", func(c *podCache) { c.set("a", &podStatus{}, same); c.updateTime(same) }, nil, "waits for ever"},
		{"newer", func(c *podCache) { c.set("a", &podStatus{}, after) }, nil, "0s"},
		{"observed, newer", func(c *podCache) { c.set("a", &podStatus{}, before); c.setObservedTime("a", after) }, nil, "0s"},
		{"observed, as new", func(c *podCache) { c.set("a", &podStatus{}, before); c.setObservedTime("a", same) }, nil, "waits for ever"},
		{"all newer, the pod unknown", func(c *podCache) { c.updateTime(after) }, nil, "0s"},
		{"all newer, the pod older", func(c *podCache) { c.set("a", &podStatus{}, before); c.updateTime(after) }, nil, "0s"},
		{"observed, the pod unknown", func(c *podCache) { c.setObservedTime("a", after) }, nil, "waits for ever"},
		{"another pod", nil, func(c *podCache) { c.set("b", &podStatus{}, after); c.setObservedTime("b", after) }, "waits for ever"},
		{"then older", nil, func(c *podCache) { c.set("a", &podStatus{}, before) }, "waits for ever"},
		{"then as new", nil, func(c *podCache) { c.set("a", &podStatus{}, same) }, "1s"},
		{"then observed as new", nil, func(c *podCache) { c.setObservedTime("a", same) }, "1s"},
		{"then all as new", nil, func(c *podCache) { c.updateTime(same) }, "1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sim.New(sim.Options{})
			defer s.Close()
			cache, got := newPodCache(), "waits for ever"
			if c.known != nil {
				c.known(cache)
			}
			s.Go("pod worker", func(p *sim.Proc) {
				if cache.getNewerThan(p, "a", asked) == nil {
					t.Error("no status at all, want an empty one")
				}
				got = fmt.Sprint(p.Now())
			})
			s.At(time.Second, "PLEG", func() {
				if c.later != nil {
					c.later(cache)
				}
			})
			if err := s.RunUntil(time.Minute); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// The waiting worker gets what is known then; several wait independently.
func TestNewerThanGetsTheNewest(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	cache, old := newPodCache(), &podStatus{ips: []string{"old"}}
	cache.set("a", old, 0)
	got := map[string]string{}
	for name, asked := range map[string]time.Duration{"early": time.Second, "late": 3 * time.Second} {
		s.Go(name, func(p *sim.Proc) {
			ips := cache.getNewerThan(p, "a", asked).ips
			got[name] = fmt.Sprint(p.Now(), " ", ips)
		})
	}
	for i := range 4 {
		s.At(time.Duration(i)*time.Second, "PLEG", func() {
			cache.set("a", &podStatus{ips: []string{fmt.Sprint(i)}}, s.Now())
		})
	}
	if err := s.RunUntil(time.Minute); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"early": "1s [1]", "late": "3s [3]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cache.delete("a")
	if s := cache.get("a"); len(s.ips) != 0 {
		t.Errorf("of a deleted entry there is %v", s)
	}
}

// TestWorkQueue compares the queue with a plain map: a pod is due when its time is past, not when it is now
// (pkg/kubelet/util/queue/work_queue.go), and the last time that it was queued for counts.
func TestWorkQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, model := newWorkQueue(), map[types.UID]time.Duration{}
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				uid := types.UID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod"))
				at := now + time.Duration(rapid.IntRange(0, 5).Draw(t, "in"))
				q.enqueue(uid, at)
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
				if len(want) > 0 && !q.ready(now) {
					t.Fatalf("%v are due at %d and the queue says that it is not ready", want, now)
				}
				got := q.getWork(now)
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("at %d the queue gives %v, want %v", now, got, want)
				}
			},
		})
	})
}

func TestWorkQueueIsStrict(t *testing.T) {
	q := newWorkQueue()
	q.enqueue("a", 5)
	if q.ready(5) || q.getWork(5) != nil {
		t.Error("a pod is due at its very time, want after it")
	}
	if !q.ready(6) || len(q.getWork(6)) != 1 || q.ready(7) {
		t.Error("a pod is not due once after its time")
	}
}
