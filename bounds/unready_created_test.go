package bounds

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
)

// A relist that has just listed the next instance as created inspects it, and the next relist, which finds the start, comes as much later. So a status is
// not ready later than if that relist had only listed what runs.
func TestUnreadyAfterCreatedInstanceIsInspected(t *testing.T) {
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app",
		LivenessProbe:  &v1.Probe{ProbeHandler: get, InitialDelaySeconds: 30, PeriodSeconds: 5, FailureThreshold: 5, TimeoutSeconds: 5},
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}, PeriodSeconds: 15, FailureThreshold: 6, TimeoutSeconds: 5},
	}}}}
	p, _ := profile.Named("v1.33.13")
	s, err := NewSubject(pod, "app", p)
	if err != nil {
		t.Fatal(err)
	}
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
