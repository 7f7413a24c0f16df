package node_test

import (
	"testing"
	"time"

	"probesim.dev/node"
	"probesim.dev/sim/virtual"
)

// TestClock checks that the clock begins with t=0, moves with virtual time, and follows StepClock.
func TestClock(t *testing.T) {
	n := node.New(node.Options{})
	defer n.Close()
	clock := n.Clock()
	start := clock.Now()
	for _, step := range []struct {
		until time.Duration
		step  time.Duration
		want  time.Duration // since the start
	}{
		{0, 0, 0},
		{time.Minute, 0, time.Minute},
		{90 * time.Second, -time.Hour, 90*time.Second - time.Hour},
		{91500 * time.Millisecond, 2 * time.Hour, 91500*time.Millisecond + time.Hour},
	} {
		if err := n.RunUntil(virtual.At(step.until)); err != nil {
			t.Fatal(err)
		}
		n.StepClock(step.step)
		if got := clock.Since(start); got != step.want || clock.Now() != start.Add(step.want) {
			t.Errorf("at %s: %s since the start, want %s", step.until, got, step.want)
		}
	}
}
