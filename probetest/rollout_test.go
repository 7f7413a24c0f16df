package probetest

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/world/router"
)

// webDeployment returns a Deployment of three pods with a readiness probe.
func webDeployment() *appsv1.Deployment {
	ready := &v1.Probe{PeriodSeconds: 1,
		ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}}
	app := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "web:1",
					ReadinessProbe: ready}}},
			},
		},
	}
}

func webService() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80}}},
	}
}

// refusing is a program that refuses connections at once after SIGTERM, and ends 3 s later.
var refusing = Behavior{"app": {{For: "5s", Probes: "down"}, {AfterSigterm: "0s", Refuse: true},
	{AfterSigterm: "3s", Exit: "0"}}}

// rolled is a node a minute after the start of a Deployment, under traffic.
func rolled(t testing.TB) (*Node, *Deployment, *Service) {
	n := NewNode(t, NodeOptions{ControlPlane: &ControlPlane{}})
	web := n.AddDeployment(webDeployment(), refusing)
	svc := n.AddService(webService(), Requests{Rate: 200, Least: 20 * time.Millisecond, Most: 80 * time.Millisecond})
	n.AdvanceTo(time.Minute)
	return n, web, svc
}

// TestRollout rolls a Deployment out, and checks that minReadySeconds brings the loss down.
func TestRollout(t *testing.T) {
	Expect := gomega.NewWithT(t).Expect
	n, web, svc := rolled(t)
	Expect(svc).To(HaveLostRequests(0))
	Expect(web).To(HaveRolledOutWithin(10 * time.Second))
	web.Restart()
	n.Advance(2 * time.Minute)
	Expect(web).To(HaveRolledOutWithin(time.Minute))
	Expect(web).To(HaveKeptReady(3))
	Expect(web).NotTo(HaveKeptReady(4))
	Expect(web.Pods()).To(gomega.HaveLen(6))
	Expect(web.Pods()).To(HaveBecomeReady())
	lost := svc.LostRequests()
	Expect(svc).To(HaveLostRequests(gomega.BeNumerically("~", 180, 30)))

	web.Update(func(spec *appsv1.DeploymentSpec) {
		spec.MinReadySeconds = 2
		spec.Template.Spec.Containers[0].Image = "web:3"
	})
	n.Advance(2 * time.Minute)
	Expect(web).To(HaveRolledOutWithin(time.Minute))
	if again := svc.LostRequests() - lost; again < 10 || again > 60 {
		t.Errorf("with minReadySeconds %.1f requests are lost, and %.1f without", again, lost)
	}
	n.AdvanceTo(10 * time.Minute)
	Expect(svc.LostRequests()).To(gomega.BeNumerically("<", lost+60))
}

// TestRolloutIsStopped rolls a version out that is never Ready, pauses, scales and undoes.
func TestRolloutIsStopped(t *testing.T) {
	Expect := gomega.NewWithT(t).Expect
	n, web, svc := rolled(t)
	web.Update(func(spec *appsv1.DeploymentSpec) {
		spec.Template.Spec.Containers[0].Image = "web:2"
	}, Behavior{"app": {{Readiness: "503"}}})
	n.Advance(time.Minute)
	Expect(web).NotTo(HaveRolledOutWithin(time.Minute))
	Expect(web.Pods()[3]).NotTo(HaveBecomeReady())
	web.Pause()
	web.Scale(4)
	n.Advance(time.Minute)
	Expect(web.Pods()).To(gomega.HaveLen(5))
	web.Resume()
	web.Undo()
	n.Advance(time.Minute)
	Expect(web).To(HaveRolledOutWithin(10 * time.Second))
	Expect(web).To(HaveKeptReady(3))
	Expect(svc).To(HaveLostRequests(0))
}

// TestUndo goes back to the programs of the earlier ReplicaSet.
func TestUndo(t *testing.T) {
	Expect := gomega.NewWithT(t).Expect
	n, web, svc := rolled(t)
	web.Update(func(spec *appsv1.DeploymentSpec) {
		spec.Template.Spec.Containers[0].Image = "web:2"
	}, Behavior{"app": {{Readiness: "503"}}})
	n.Advance(time.Minute)
	web.Undo()
	n.Advance(time.Minute)
	Expect(web).To(HaveRolledOutWithin(time.Second))
	web.Scale(5)
	n.Advance(time.Minute)
	Expect(web).To(HaveRolledOutWithin(10 * time.Second))
	Expect(web).To(HaveKeptReady(3))
	Expect(svc).To(HaveLostRequests(0))
	Expect(web.Pods()[5]).To(HaveBecomeReady())
}

// TestScenarioObjects asserts about the Deployment and the Service of a scenario.
func TestScenarioObjects(t *testing.T) {
	Expect := gomega.NewWithT(t).Expect
	run := RunScenario(t, "../scenarios/library/rollouts/rollout-with-traffic.yaml", "rollout-with-traffic",
		ScenarioOptions{})
	Expect(run.Deployment("web")).To(HaveRolledOutWithin(time.Minute))
	Expect(run.Deployment("web")).To(HaveKeptReady(3))
	Expect(run.Service("web")).NotTo(HaveLostRequests(0))
	Expect(run.Deployment("web").Pods()).To(gomega.HaveLen(6))
}

func TestHaveLostRequests(t *testing.T) {
	n, web, svc := rolled(t)
	web.Restart()
	n.Advance(time.Minute)
	try(t, []attempt{
		{name: "none", actual: svc, matcher: HaveLostRequests(0)},
		{name: "few", actual: svc, matcher: HaveLostRequests(gomega.BeNumerically("<", 20))},
		{name: "many", actual: svc, matcher: HaveLostRequests(gomega.BeNumerically(">", 100)), ok: true},
		{name: "a deployment", actual: web, matcher: HaveLostRequests(0),
			err: "expected a *probetest.Service, got a *probetest.Deployment"},
		{name: "nil", actual: (*Service)(nil), matcher: HaveLostRequests(0), err: "returned"},
		{name: "a text", actual: svc, matcher: HaveLostRequests("none"),
			err: "a number is an int or a matcher, not a value of type string"},
	})
}

// TestNothingServes sends requests to pods that never listen: all are lost.
func TestNothingServes(t *testing.T) {
	n := NewNode(t, NodeOptions{ControlPlane: &ControlPlane{}})
	n.AddDeployment(webDeployment(), Behavior{"app": {{Probes: "down"}}})
	svc := n.AddService(webService(), Requests{Rate: 100})
	n.AdvanceTo(time.Minute)
	try(t, []attempt{
		{name: "none", actual: svc, matcher: HaveLostRequests(0)},
		{name: "all", actual: svc, matcher: HaveLostRequests(gomega.BeNumerically("~", 6000, 10)), ok: true},
	})
}

func TestHaveRolledOutWithin(t *testing.T) {
	n, web, svc := rolled(t)
	web.Update(func(spec *appsv1.DeploymentSpec) {
		spec.Template.Spec.Containers[0].Image = "web:2"
	}, Behavior{"app": {{Readiness: "503"}}})
	n.Advance(time.Minute)
	stuck := HaveRolledOutWithin(time.Minute)
	try(t, []attempt{
		{name: "stuck", actual: web, matcher: stuck},
		{name: "too early", actual: web, matcher: HaveRolledOutWithin(2 * time.Minute),
			err: "but the run has only reached 120.000s: call Advance first"},
		{name: "a service", actual: svc, matcher: HaveRolledOutWithin(time.Minute),
			err: "expected a *probetest.Deployment, got a *probetest.Service"},
	})
	if text := stuck.GomegaString(); !strings.HasPrefix(text,
		"have rolled out within 1m; the last one examined is Deployment web: It is not complete") {
		t.Errorf("the matcher is %q", text)
	}
}

func TestHaveKeptReady(t *testing.T) {
	n, web, _ := rolled(t)
	web.Update(func(spec *appsv1.DeploymentSpec) {
		spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	n.Advance(time.Second)
	web.Restart()
	n.Advance(time.Minute)
	try(t, []attempt{
		{name: "recreate", actual: web, matcher: HaveKeptReady(3)},
		{name: "never", actual: web, matcher: HaveKeptReady(4)},
		{name: "zero", actual: web, matcher: HaveKeptReady(0), err: "use 1 or more"},
	})
}

// TestRolloutMistakes checks the messages of mistakes.
func TestRolloutMistakes(t *testing.T) {
	for _, m := range []struct {
		want string
		do   func(fake *fakeT, n *Node)
	}{
		{"AddDeployment: the object is nil", func(_ *fakeT, n *Node) { n.AddDeployment(nil) }},
		{"AddService: there is no router \"alb\"; the routers are: kube-proxy",
			func(_ *fakeT, n *Node) { n.AddService(webService(), Requests{Router: "alb"}) }},
		{`web has no container "api" (did you mean "app"?)`,
			func(_ *fakeT, n *Node) { n.AddDeployment(webDeployment(), Behavior{"api": {{Exit: "1"}}}) }},
		{"Restart of the Deployment web at 0.000s: deployments.apps \"web\" not found", func(_ *fakeT, n *Node) {
			(&Deployment{object: n.object("Deployment", webDeployment())}).Restart()
			n.Advance(0)
		}},
		{"the change has no effect", func(_ *fakeT, n *Node) {
			n.AddDeployment(webDeployment()).Update(func(*appsv1.DeploymentSpec) {})
			n.Advance(0)
		}},
		{"you cannot roll back the paused Deployment web; resume it first", func(_ *fakeT, n *Node) {
			web := n.AddDeployment(webDeployment())
			n.Advance(time.Minute)
			web.Restart()
			n.Advance(time.Minute)
			web.Pause()
			web.Undo()
			n.Advance(0)
		}},
		{"already exists", func(_ *fakeT, n *Node) {
			n.AddDeployment(webDeployment())
			n.AddDeployment(webDeployment())
			n.Advance(0)
		}},
	} {
		fake := newFakeT(t)
		m.do(fake, NewNode(fake, NodeOptions{ControlPlane: &ControlPlane{}}))
		if got := strings.Join(fake.failures, "\n"); !strings.Contains(got, m.want) {
			t.Errorf("the failure is %q, want %q", got, m.want)
		}
	}
	fake := newFakeT(t)
	if NewNode(fake, NodeOptions{}).AddDeployment(webDeployment()); len(fake.failures) != 1 ||
		!strings.Contains(fake.failures[0], "the node has no control plane") {
		t.Errorf("without a control plane: %q", fake.failures)
	}
}

// TestLoadBalancer sends requests through a load balancer that is slower than kube-proxy.
func TestLoadBalancer(t *testing.T) {
	alb, _ := router.NamedLoadBalancer("alb-ip")
	n := NewNode(t, NodeOptions{ControlPlane: &ControlPlane{LoadBalancers: []router.LoadBalancer{alb.LoadBalancer}}})
	web := n.AddDeployment(webDeployment(), refusing)
	svc := n.AddService(webService(), Requests{Rate: 200}, Requests{Rate: 200, Router: "alb-ip"})
	n.AdvanceTo(2 * time.Minute)
	web.Restart()
	n.Advance(3 * time.Minute)
	gomega.NewWithT(t).Expect(svc).To(HaveLostRequests(gomega.BeNumerically(">", 1000)))
	if text := failure(func(g gomega.Gomega) {
		g.Expect(svc).To(HaveLostRequests(0))
	}); !strings.Contains(text, "web-1-0 refuses them") || !strings.Contains(text, "by alb-ip\n") {
		t.Errorf("the message is\n%s", text)
	}
}
