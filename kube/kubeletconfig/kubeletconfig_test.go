package kubeletconfig_test

import (
	"slices"
	"testing"
	"time"

	"probesim.dev/kube/kubeletconfig"
)

func TestShutdownPeriods(t *testing.T) {
	for _, test := range []struct {
		grace, critical time.Duration
		want            []int64 // seconds
	}{
		{0, 0, nil},
		{30 * time.Second, 0, []int64{30, 0}},
		{30 * time.Second, 10 * time.Second, []int64{20, 10}},
		{30500 * time.Millisecond, 10200 * time.Millisecond, []int64{20, 10}},
		{10 * time.Second, 10 * time.Second, []int64{0, 10}},
	} {
		var got []int64
		c := kubeletconfig.Config{ShutdownGracePeriod: test.grace, ShutdownGracePeriodCriticalPods: test.critical}
		for _, p := range c.ShutdownPeriods() {
			got = append(got, p.Seconds)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s, of which %s for critical pods: got %d, want %d", test.grace, test.critical, got, test.want)
		}
	}
}

func TestGroup(t *testing.T) {
	c := kubeletconfig.Config{ShutdownByPriority: []kubeletconfig.ShutdownPeriod{{1000, 3}, {-5, 1}, {0, 2}}}
	periods := c.ShutdownPeriods()
	for priority, want := range map[int32]int64{-100: 1, -5: 1, -1: 1, 0: 2, 999: 2, 1000: 3, 2_000_000_000: 3} {
		if got := periods[kubeletconfig.Group(periods, priority)].Seconds; got != want {
			t.Errorf("a pod of priority %d has a period of %d s, want %d s", priority, got, want)
		}
	}
	if c.ShutdownByPriority[0].Priority != 1000 {
		t.Errorf("ShutdownPeriods has changed the configuration to %v", c.ShutdownByPriority)
	}
}
