package bounds

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/kube/profile"
)

// A sync without an event begins the period of the readiness probe again, just before initialDelaySeconds ends.
func TestReadyAfterResyncBeforeDelayEnds(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", ReadinessProbe: &v1.Probe{PeriodSeconds: 30, InitialDelaySeconds: 65, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}},
	}}}}
	s, err := NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.UntilReady(Nodes{}, true)
	if err != nil {
		t.Fatal(err)
	}
	var longest time.Duration
	for i := range 20 {
		c := s.center(Nodes{})
		c.SyncJitter = float64(i) / 100
		one, err := s.upAt(c, 0)
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, one.bound.Greatest)
	}
	if longest < 93*time.Second || longest > b.Greatest {
		t.Errorf("a run takes %v until ready, the bound is %v", longest, b.Greatest)
	}
}
