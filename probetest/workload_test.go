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

// TestAddWorkload checks that the pods of a workload share a handler, and that a rule can apply to
// one of them.
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

// TestAddWorkloadAgain checks that a workload that is deleted and added again has new pods with the
// same names.
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
		{func(n *Node) {
			n.AddWorkload(deployment(0))
		}, "the Deployment web cannot be added:\nspec.replicas: must be from 1 to "},
		{func(n *Node) {
			n.AddWorkload(job)
		}, "the Job job cannot be added:\nspec.template.spec.containers: Required value"},
		{twice, "the node already has a pod web-1: "},
	} {
		fake := newFakeT(t)
		test.do(NewNode(fake, NodeOptions{}))
		if got := strings.Join(fake.failures, "\n"); !strings.HasPrefix(got, test.want) {
			t.Errorf("failed with %q, want %q", got, test.want)
		}
	}
}

// lateReplica returns three replicas whose second one is Ready 20 s after the others.
func lateReplica(t *testing.T) []*Pod {
	n := NewNode(t, NodeOptions{})
	d := deployment(3)
	d.Spec.Template.Spec.Containers[0].ReadinessProbe = d.Spec.Template.Spec.Containers[0].LivenessProbe
	pods := n.AddWorkload(d, Behavior{"app": {{Replica: "1", For: "20s", Readiness: "fail"}}})
	n.Advance(time.Minute)
	return pods
}

// TestLists checks that matchers take lists of pods and containers, and name the one that fails.
func TestLists(t *testing.T) {
	pods := lateReplica(t)
	values, containers := []Pod{*pods[0], *pods[1], *pods[2]},
		[]*Container{pods[0].Container("app"), pods[1].Container("app")}
	g := gomega.NewWithT(t)
	for _, list := range []any{pods, values, containers, []Container{*containers[0]}, *pods[0], *containers[0]} {
		g.Expect(list).To(HaveBecomeReady().Times(1).Within(50 * time.Second))
		g.Expect(list).NotTo(HaveRestarted())
		g.Expect(list).To(HaveBeenProbed("liveness").AtLeast(2))
	}
	g.Expect(pods).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue))

	for name, fails := range map[string]func(gomega.Gomega){
		"To":         func(g gomega.Gomega) { g.Expect(pods).To(HaveBecomeReady().Within(10 * time.Second)) },
		"NotTo":      func(g gomega.Gomega) { g.Expect(values).NotTo(HaveBecomeReady().Within(10 * time.Second)) },
		"containers": func(g gomega.Gomega) { g.Expect(containers).To(HaveBecomeReady().Within(10 * time.Second)) },
	} {
		message := failure(fails)
		for _, want := range []string{"web-1", "It did not; later at ", "\nThe others:\n    web-0",
			": It did once, at ", " of " +
				map[bool]string{true: "2", false: "3"}[name == "containers"] + " match. To expects that all do, " +
				"NotTo that none does."} {
			if !strings.Contains(message, want) {
				t.Errorf("%s: the message does not contain %q:\n%s", name, want, message)
			}
		}
		if strings.Count(message, "\n") > 40 {
			t.Errorf("%s: the message has %d lines:\n%s", name, strings.Count(message, "\n"), message)
		}
	}
	all := failure(func(g gomega.Gomega) { g.Expect(pods).To(HaveRestarted()) })
	if !strings.HasPrefix(all, "Expected\n    web-0\nto have restarted.") ||
		!strings.HasSuffix(all, "The others:\n    web-1: It did not\n    web-2: It did not") {
		t.Errorf("the message is\n%s", all)
	}
	none := failure(func(g gomega.Gomega) { g.Expect(pods).NotTo(HaveBecomeReady()) })
	if !strings.HasPrefix(none, "Expected\n    web-0\nnot to have become ready.") ||
		strings.Count(none, ": It did once, at ") != 2 {
		t.Errorf("the message is\n%s", none)
	}
	if got := failure(func(g gomega.Gomega) {
		g.Expect([]*Pod{}).To(HaveBecomeReady())
	}); got != "HaveBecomeReady: the list is empty: every assertion about it would hold" {
		t.Errorf("of an empty list: %s", got)
	}
	if got := failure(func(g gomega.Gomega) {
		g.Expect([]*Pod{pods[0], nil}).To(HaveBecomeReady())
	}); !strings.HasPrefix(got, "HaveBecomeReady: element 1 of the list: the pod is nil") {
		t.Errorf("of a nil pod: %s", got)
	}
}

// TestHaveEach checks that the message of HaveEach is short and names the pod that fails.
func TestHaveEach(t *testing.T) {
	pods := lateReplica(t)
	got := failure(func(g gomega.Gomega) {
		g.Expect(pods).To(gomega.HaveEach(HaveBecomeReady().Within(10 * time.Second)))
	})
	want := "have become ready within 10s after the pod was added; the last one examined is web-1: It did not; " +
		"later at "
	if !strings.Contains(got, want) || strings.Count(got, "\n") > 5 {
		t.Errorf("the message is\n%s\nwant %q", got, want)
	}
	for _, m := range []interface{ GomegaString() string }{
		HaveRestarted(), HaveBeenProbed("liveness").Times(2), HaveEvent("Unhealthy"), HaveBackedOffFor(time.Second),
		HaveReadyIntervals(),
		HaveContainerStatuses(), HaveConditionTransitions(v1.PodReady, v1.ConditionTrue), MeetRequirements("start>=1s"),
		HaveBeenKilledBecauseOf("Deleted"),
	} {
		if text := m.GomegaString(); text == "" || strings.Contains(text, "\n") {
			t.Errorf("%T is %q", m, text)
		}
	}
}

// failure returns the message of the failure of an assertion.
func failure(assert func(gomega.Gomega)) (message string) {
	assert(gomega.NewGomega(func(text string, _ ...int) { message = text }))
	return message
}
