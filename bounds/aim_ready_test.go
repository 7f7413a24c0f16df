package bounds_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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

// A readiness probe can be running when the liveness probe stops a container that is not up. A program that comes up just before that run is
// ready after it, not a period later.
func TestUntilReadyOfARunAtTheStop(t *testing.T) {
	liveness, readiness := probe(5, 1), probe(7, 4)
	liveness.InitialDelaySeconds = 6
	liveness.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	readiness.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}
	readiness.TimeoutSeconds = 3
	typical, _ := fakeruntime.DelaySet("typical")
	b, err := subject(t, "v1.37.0", nil, liveness, readiness).UntilReady(bounds.Nodes{Delays: typical}, false)
	if err != nil || b.Greatest < 7*time.Second || b.Greatest > 8*time.Second {
		t.Errorf("ready after at most %v, want a period and less than a second; error %v", b.Greatest, err)
	}
}

// The best time until the stop signal is that of a kubelet that acts at once, also if a sync has come just before the verdict in each run of the
// search.
func TestUntilStoppedAtOnce(t *testing.T) {
	liveness, readiness := probe(3, 2), probe(3, 2)
	liveness.InitialDelaySeconds, liveness.TimeoutSeconds = 1, 4
	readiness.InitialDelaySeconds, readiness.TimeoutSeconds = 2, 2
	readiness.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}
	typical, _ := fakeruntime.DelaySet("typical")
	b, err := subject(t, "v1.36.3", nil, liveness, readiness).UntilStopped(bounds.Nodes{Delays: typical}, bounds.Stall)
	if err != nil || !b.LeastDerived || b.Least > 8010*time.Millisecond || b.LeastShown() < 8100*time.Millisecond {
		t.Errorf("the stop signal comes after at least %v, in a run %v, want two timeouts, and more in a run; error %v", b.Least, b.LeastShown(), err)
	}
}
