package bounds

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
)

// A relist that has just listed the next instance as created inspects it. The next relist, which finds the start, comes as much later, and so does the
// status that is not ready.
func TestUnreadyAfterCreatedInstanceIsInspected(t *testing.T) {
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
	p, _ := profile.Named("v1.33.13")
	s := subjectOf(t, p, v1.Container{
		Image:          "app",
		LivenessProbe:  &v1.Probe{ProbeHandler: get, InitialDelaySeconds: 30, PeriodSeconds: 5, FailureThreshold: 5, TimeoutSeconds: 5},
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}, PeriodSeconds: 15, FailureThreshold: 6, TimeoutSeconds: 5},
	})
	s.searchesOn = true
	var n Nodes
	n.Delays, _ = fakeruntime.DelaySet("typical")
	b, err := s.UntilUnready(n, Hang)
	if err != nil {
		t.Fatal(err)
	}
	if _, greatest := s.unreadyLimits(n, Hang); b.GreatestShown() > greatest {
		t.Errorf("a run has %v, and the limit is %v", b.GreatestShown(), greatest)
	}
}
