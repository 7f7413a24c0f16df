package probetest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/live", Port: intstr.FromInt32(80)}}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "app", Image: "a", LivenessProbe: &v1.Probe{ProbeHandler: get}}}}},
	}}
}

// TestAddWorkload checks that the pods of a workload share a handler, and that a rule can apply to one of them.
func TestAddWorkload(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(t, NodeOptions{})
	asked := 0
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ })
	pods := n.AddWorkload(deployment(3), Behavior{"app": {{Handler: handler}, {Replica: "1", After: "30s", Exit: "2"}}})
	n.Advance(55 * time.Second)
	gomega.Expect(pods).To(gomega.HaveLen(3))
	gomega.Expect(pods).To(gomega.HaveEach(HaveBecomeReady().Within(5 * time.Second)))
	gomega.Expect(pods[1]).To(HaveRestarted().Times(1))
	gomega.Expect(pods[2]).NotTo(HaveRestarted())
	if asked < 12 {
		t.Errorf("the handler received %d requests", asked)
	}

	message := gomega.HaveEach(HaveRestarted())
	message.Match(pods)
	gomega.Expect(message.FailureMessage(pods)).To(gomega.ContainSubstring("web-0"))
	gomega.Expect(len(message.FailureMessage(pods))).To(gomega.BeNumerically("<", 5000))
}

// TestAddWorkloadAgain checks that a workload that is deleted and added again has new pods with the same names.
func TestAddWorkloadAgain(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(t, NodeOptions{})
	first := n.AddWorkload(deployment(2), Behavior{"app": {{Liveness: "fail"}}})
	n.Advance(time.Minute)
	for _, p := range first {
		p.Delete(0)
	}
	n.Advance(time.Second)
	second := n.AddWorkload(deployment(2))
	n.Advance(time.Minute)
	gomega.Expect(second).To(gomega.HaveEach(HaveBecomeReady().Times(1)))
	gomega.Expect(second).To(gomega.HaveEach(gomega.Not(HaveRestarted())))
	gomega.Expect(first).To(gomega.HaveEach(HaveRestarted()))
	gomega.Expect(first[1].Object.UID).NotTo(gomega.Equal(second[1].Object.UID))
}

func TestWorkloadsRefused(t *testing.T) {
	twice := func(n *Node) {
		n.AddWorkload(deployment(2))
		n.AddPod(pod("web-1", v1.Container{Name: "a", Image: "a"}))
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	for _, test := range []struct {
		do   func(*Node)
		want string
	}{
		{func(n *Node) { n.AddWorkload(nil) }, "there is no object: it is nil"},
		{func(n *Node) { n.AddWorkload((*appsv1.Deployment)(nil)) }, "there is no object: it is nil"},
		{func(n *Node) { n.AddWorkload(&v1.Service{}) }, "a *v1.Service creates no pods: the kinds that do are Pod, "},
		{func(n *Node) { n.AddWorkload(deployment(0)) }, "the Deployment web cannot be added:\nspec.replicas: must be from 1 to "},
		{func(n *Node) { n.AddWorkload(job) }, "the Job job cannot be added:\nspec.template.spec.containers: Required value"},
		{twice, "the node already has a pod web-1: "},
	} {
		fake := newFakeT(t)
		test.do(NewNode(fake, NodeOptions{}))
		if got := strings.Join(fake.failures, "\n"); !strings.HasPrefix(got, test.want) {
			t.Errorf("failed with %q, want %q", got, test.want)
		}
	}
}
