package bounds_test

import (
	"testing"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
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

// A program that comes up later is that of the first instance: no probe stops the container before, however late a sync comes that would make
// it ready sooner.
func TestUntilReadyOfTheFirstInstance(t *testing.T) {
	pod := web()
	app := &pod.Spec.Containers[0]
	app.StartupProbe, app.LivenessProbe, app.ReadinessProbe = nil, probe(1, 3), probe(2, 3)
	app.ReadinessProbe.SuccessThreshold = 3
	typical, _ := fakeruntime.DelaySet("typical")
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.UntilReady(bounds.Nodes{Delays: typical}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []bounds.Case{b.AtLeast, b.AtGreatest} {
		shown, err := s.Show(end)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range shown.Records {
			if r.Kind == trace.ContainerStopping && r.T < shown.Outcome {
				t.Errorf("a probe stops the container at %v, and it is ready at %v", r.T, shown.Outcome)
			}
		}
	}
	if most := 7 * time.Second; b.Greatest > most {
		t.Errorf("ready after at most %v, want at most three periods and a second", b.Greatest)
	}
}
