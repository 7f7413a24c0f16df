package bounds

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// A gRPC probe that is refused connects again after 1 s, 1.28 to 1.92 s later, 2.05 to 3.07 s later and so on, until its timeout. Each connection takes
// 0.5 to 20 ms here.
func TestLastConnection(t *testing.T) {
	for _, test := range []struct {
		m               Misfortune
		timeout         int32
		least, greatest time.Duration
	}{
		{Refuse, 1, 0, 0},
		{Refuse, 2, 1000500 * time.Microsecond, 1020 * time.Millisecond},
		{Refuse, 3, 2281 * time.Millisecond, 2960 * time.Millisecond},
		{Refuse, 5, 2281 * time.Millisecond, 4999500 * time.Microsecond},     // the fourth connection is in time or not
		{Refuse, 10, 5044800 * time.Microsecond, 9999500 * time.Microsecond}, // the fifth is 3.28 to 4.92 s after the fourth
		{Hang, 20, 0, 0},
		{Hang, 22, 21 * time.Second, 21 * time.Second}, // the client gives up the first connection after 20 s
	} {
		s := withLiveness(t, v1.Probe{
			ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}, PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: test.timeout,
		})
		typical, _ := fakeruntime.DelaySet("typical")
		if got := s.lastConnectionDuring(Nodes{Delays: typical}, trace.Liveness, test.m); got.Min != test.least || got.Max != test.greatest {
			t.Errorf("%s: the last connection within %d s that can succeed begins after %v to %v, not %v to %v", test.m, test.timeout, got.Min, got.Max, test.least, test.greatest)
		}
	}
}

// A program that comes up before the last connection of a gRPC probe is in time, although it refuses the last run of the probe when this run begins.
func TestStartDuringTheLastConnections(t *testing.T) {
	s := withLiveness(t, v1.Probe{
		ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}, PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 6,
	})
	b, err := s.Start(Nodes{}, FirstInstance)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct {
		c     Case
		limit time.Duration
	}{{b.AtLeast, b.LeastShown()}, {b.AtGreatest, b.GreatestShown()}} {
		for after, stops := range map[time.Duration]bool{-time.Millisecond: false, time.Millisecond: true} {
			c := end.c
			c.Rules = []Rule{{Instance: 0, For: end.limit + after, Misfortune: Refuse}}
			_, err := s.record(&c, s.recorder(""), 2*time.Minute, s.stopped(0))
			if stopped := err == nil; stopped != stops {
				t.Errorf("a start that ends %v after the limit of %v is stopped: %v, %v", after, end.limit, stopped, err)
			}
		}
	}
}

// withLiveness returns a container with a liveness probe.
func withLiveness(t *testing.T, probe v1.Probe) *Subject {
	return subjectOf(t, profile.Newest(), v1.Container{Image: "app:1", LivenessProbe: &probe})
}

// subjectOf returns the only container of a pod as a subject.
func subjectOf(t *testing.T, p profile.Profile, c v1.Container) *Subject {
	t.Helper()
	c.Name = "app"
	s, err := NewSubject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}, c.Name, p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
