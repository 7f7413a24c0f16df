package bounds

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/kube/profile"
)

// The verdict of the liveness probe decides how long a hang may last, also if the preStop hook delays the stop signal until long after the container is not
// ready.
func TestServingWithHookBeforeStop(t *testing.T) {
	connect := v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	s := subjectOf(t, profile.Newest(), v1.Container{
		Image:          "app:1",
		LivenessProbe:  &v1.Probe{ProbeHandler: connect, PeriodSeconds: 4, FailureThreshold: 5, TimeoutSeconds: 4},
		ReadinessProbe: &v1.Probe{ProbeHandler: connect, PeriodSeconds: 8, FailureThreshold: 3, TimeoutSeconds: 2},
		Lifecycle:      &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 10}}},
	})
	s.searchesOn = true
	b, err := s.StaysReady(Nodes{}, Hang)
	if err != nil {
		t.Fatal(err)
	}
	if _, greatest := s.lastsAtMost(Nodes{}, Hang); b.Greatest > greatest {
		t.Errorf("a search finds that the hang may last %v; the liveness probe stops the container after %v", b.Greatest, greatest)
	}
}
