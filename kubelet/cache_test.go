package kubelet

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// Each run draws the same examples, unless -rapid.seed is set.
var _ = flag.Set("rapid.seed", "1")

// A pod worker that asks for a status newer than a time gets it immediately only if the known
// status is newer. Once the worker waits, a status that is as new is enough (getIfNewerThan and
// notify in pkg/kubelet/container/cache.go at v1.37.0).
func TestGetNewerThan(t *testing.T) {
	const asked = virtual.Time(10 * time.Second)
	before, same, after := asked-1, asked, asked+1
	for _, c := range []struct {
		name  string
		known func(*podCache) // before the worker asks
		later func(*podCache) // at 1 s
		want  string
	}{
		{"no status", nil, nil, "waits forever"},
		{"older", func(c *podCache) { c.set("a", &podStatus{}, before); c.updateTime(before) }, nil, "waits forever"},
		{"equally new", func(c *podCache) { c.set("a", &podStatus{}, same); c.updateTime(same) }, nil, "waits forever"},
		{"newer", func(c *podCache) { c.set("a", &podStatus{}, after) }, nil, "0s"},
		{"observed, newer", func(c *podCache) {
			c.set("a", &podStatus{}, before)
			c.setObservedTime("a", after)
		}, nil, "0s"},
		{"observed, equally new", func(c *podCache) {
			c.set("a", &podStatus{}, before)
			c.setObservedTime("a", same)
		}, nil, "waits forever"},
		{"all newer, the pod unknown", func(c *podCache) { c.updateTime(after) }, nil, "0s"},
		{"all newer, the pod older", func(c *podCache) {
			c.set("a", &podStatus{}, before)
			c.updateTime(after)
		}, nil, "0s"},
		{"observed, the pod unknown", func(c *podCache) { c.setObservedTime("a", after) }, nil, "waits forever"},
		{"another pod", nil, func(c *podCache) {
			c.set("b", &podStatus{}, after)
			c.setObservedTime("b", after)
		}, "waits forever"},
		{"then older", nil, func(c *podCache) { c.set("a", &podStatus{}, before) }, "waits forever"},
		{"then equally new", nil, func(c *podCache) { c.set("a", &podStatus{}, same) }, "1s"},
		{"then observed equally new", nil, func(c *podCache) { c.setObservedTime("a", same) }, "1s"},
		{"then all equally new", nil, func(c *podCache) { c.updateTime(same) }, "1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sim.New(sim.Options{})
			defer s.Close()
			cache, got := newPodCache(), "waits forever"
			if c.known != nil {
				c.known(cache)
			}
			s.Go("pod worker", func(p *sim.Proc) {
				if cache.getNewerThan(p, "a", asked) == nil {
					t.Error("got nil, want an empty status")
				}
				got = fmt.Sprint(p.Now())
			})
			s.At(virtual.At(time.Second), "PLEG", func() {
				if c.later != nil {
					c.later(cache)
				}
			})
			if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A waiting worker gets the newest status at the time it is woken. Several workers wait
// independently.
func TestGetNewerThanReturnsNewest(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	cache, old := newPodCache(), &podStatus{ips: []string{"old"}}
	cache.set("a", old, 0)
	got := map[string]string{}
	for name, asked := range map[string]virtual.Time{"early": virtual.At(time.Second),
		"late": virtual.At(3 * time.Second)} {
		s.Go(name, func(p *sim.Proc) {
			ips := cache.getNewerThan(p, "a", asked).ips
			got[name] = fmt.Sprint(p.Now(), " ", ips)
		})
	}
	for i := range 4 {
		s.At(virtual.At(time.Duration(i)*time.Second), "PLEG", func() {
			cache.set("a", &podStatus{ips: []string{fmt.Sprint(i)}}, s.Now())
		})
	}
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"early": "1s [1]", "late": "3s [3]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cache.delete("a")
	if s := cache.get("a"); len(s.ips) != 0 {
		t.Errorf("got %v for a deleted entry, want an empty status", s)
	}
}
