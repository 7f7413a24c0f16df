package bounds_test

import (
	"testing"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
)

// A sync just after the first success leads to the second one at once.
func TestUntilReadyWithTwoSuccesses(t *testing.T) {
	pod := web()
	app := &pod.Spec.Containers[0]
	app.StartupProbe, app.ReadinessProbe.SuccessThreshold = nil, 2
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.UntilReady(nodes, false)
	if err != nil {
		t.Fatal(err)
	}
	if b.Least > 100*time.Millisecond {
		t.Errorf("ready after at least %v, want at once", b.Least)
	}
	if most := b.Greatest - 10*time.Second; most < 0 || most > 100*time.Millisecond {
		t.Errorf("ready after at most %v, want two periods", b.Greatest)
	}
	if _, err := s.Witnesses("soon", b.AtLeast); err != nil {
		t.Error(err)
	}
}
