package bounds_test

import (
	"testing"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
)

// A sync just before the verdict delays the stop signal until the next relist, about a second later.
func TestUntilStoppedAfterASync(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].ReadinessProbe = nil
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.UntilStopped(nodes, bounds.Hang)
	if err != nil {
		t.Fatal(err)
	}
	if late := b.Greatest - 31007*time.Millisecond; late < 970*time.Millisecond || late > 1020*time.Millisecond {
		t.Errorf("the stop signal comes after up to %v, %v later than without a sync", b.Greatest, late)
	}
	if _, err := s.Witnesses("late", b.AtGreatest); err != nil {
		t.Error(err)
	}
}
