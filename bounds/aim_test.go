package bounds_test

import (
	"strings"
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
	const atOnce = 31007 * time.Millisecond
	if late := b.Greatest - atOnce; !b.GreatestDerived || late < time.Second || late > 1020*time.Millisecond {
		t.Errorf("the stop signal comes after up to %v, %v later than without a sync", b.Greatest, late)
	}
	list, err := s.Witnesses("late", b.AtGreatest)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(list[0].Outcome, " after ")
	if found, err := time.ParseDuration(after); err != nil || found > b.Greatest || found < atOnce+970*time.Millisecond {
		t.Errorf("in the witness %s, want almost %v; error %v", list[0].Outcome, b.Greatest, err)
	}
}
