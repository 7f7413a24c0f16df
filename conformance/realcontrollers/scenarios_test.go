package realcontrollers

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// web returns a Deployment with replicas, after changes.
func web(replicas int32, image string, changes ...func(*appsv1.DeploymentSpec)) *appsv1.Deployment {
	return named("web", replicas, image, changes...)
}

func named(name string, replicas int32, image string, changes ...func(*appsv1.DeploymentSpec)) *appsv1.Deployment {
	labels := map[string]string{"app": name, "team": "shop"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: image}}},
			},
		},
	}
	for _, change := range changes {
		change(&d.Spec)
	}
	return d
}

// selecting returns a Service that selects pods by a label.
func selecting(name, label, value string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.ServiceSpec{Selector: map[string]string{label: value},
			IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Port: 80}}},
	}
}

// unready returns a Service that also publishes pods that are not Ready.
func unready(s *v1.Service) *v1.Service {
	s.Spec.PublishNotReadyAddresses = true
	return s
}

func surge(surge, unavailable string) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) {
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.Parse(surge)),
			MaxUnavailable: ptr.To(intstr.Parse(unavailable))}
	}
}

func recreate(s *appsv1.DeploymentSpec) { s.Strategy.Type = appsv1.RecreateDeploymentStrategyType }

func minReady(seconds int32) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) { s.MinReadySeconds = seconds }
}

func deadline(seconds int32) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) { s.ProgressDeadlineSeconds = ptr.To(seconds) }
}

func history(limit int32) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) { s.RevisionHistoryLimit = ptr.To(limit) }
}

// at returns a patch at a time in seconds.
func at(seconds float64, patch string) Step {
	return Step{At: time.Duration(seconds * float64(time.Second)), Patch: patch}
}

func image(image string) string {
	return `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "` + image + `"}]}}}}`
}

const (
	one, two, three = "app:start-20s-stop-1s", "app:start-9s-stop-2s", "app:start-5s-stop-1s"
	never           = "app:start-never-stop-1s"
	undo            = ""
)

const (
	pause  = `{"spec": {"paused": true}}`
	resume = `{"spec": {"paused": false}}`
)

func replicas(number string) string { return `{"spec": {"replicas": ` + number + `}}` }

// scenarios has a row for each rule of the controllers, and for each of upstream's end-to-end tests
// of Deployments (test/e2e/apps/deployment.go at v1.37.2) that needs no adoption.
var scenarios = []struct {
	name    string
	of      *appsv1.Deployment
	minutes int
	steps   []Step
	change  func(*Scenario) // nil: nothing
}{
	{"create", web(3, one), 1, nil, nil},
	{"rolling update", web(3, one), 6, []Step{at(90, image(two))}, nil},
	{"one replica", web(1, one), 3, []Step{at(90, image(two))}, nil},
	{"four replicas", web(4, one), 4, []Step{at(90, image(two))}, nil},
	{"ten replicas", web(10, one), 4, []Step{at(90, image(two))}, nil},
	{"no surge", web(5, one, surge("0", "2")), 4, []Step{at(90, image(two))}, nil},
	{"all at once", web(5, one, surge("100%", "0")), 4, []Step{at(90, image(two))}, nil},
	{"surge rounds up and unavailable down", web(7, one, surge("30%", "30%")), 4, []Step{at(90, image(two))}, nil},
	{"surge and unavailable round to nothing", web(3, one, surge("0%", "10%")), 4, []Step{at(90, image(two))}, nil},
	{"minReadySeconds", web(3, one, minReady(5)), 4, []Step{at(90, image(two))}, nil},
	{"minReadySeconds change", web(4, one, minReady(30)), 5,
		[]Step{at(80.4, image(two)), at(95.3, `{"spec": {"minReadySeconds": 2}}`)}, nil},
	{"minReadySeconds and pods that restart", web(4, "app:start-3s-stop-1s-flap-12s", minReady(10)), 4,
		[]Step{at(90, image(two))}, nil},
	{"never ready", web(3, one, deadline(60)), 5, []Step{at(90, image(never))}, nil},
	{"deadline moves while there is progress", web(4, one, deadline(25)), 5,
		[]Step{at(90, image("app:start-21s-stop-1s"))}, nil},
	{"deadline and then ready", web(2, one, deadline(30)), 5, []Step{at(90, image("app:start-45s-stop-1s"))}, nil},
	{"old pods that are not ready go first", web(5, never), 4, []Step{at(60, image(two))}, nil},
	{"old pods of which some are ready", web(6, "app:start-20s-stop-1s-boot-1s"), 4, []Step{at(22, image(two))}, nil},
	{"undo", web(4, one), 6, []Step{at(90, image(never)), at(150, undo)}, nil},
	{"undo twice", web(3, one), 6, []Step{at(90, image(two)), at(150, undo), at(210, undo)}, nil},
	{"rollover", web(4, one), 6, []Step{at(90, image(two)), at(105, image(three))}, nil},
	{"recreate", web(3, one, recreate), 4, []Step{at(90, image(two))}, nil},
	{"recreate and slow ends", web(3, "app:start-20s-stop-25s", recreate), 4,
		[]Step{at(90, image(two)), at(100, image(three))}, nil},
	{"recreate one", web(1, one, recreate), 4, []Step{at(90, image(two))}, nil},
	{"scale", web(3, one), 4, []Step{at(90, replicas("6")), at(150, replicas("2"))}, nil},
	{"scale down what has just been created", web(3, one), 3,
		[]Step{at(90, replicas("9")), at(90.02, replicas("5")), at(91, replicas("4"))}, nil},
	{"scale down pods of different ages", web(8, "app:start-1s-stop-1s"), 3,
		[]Step{at(20, replicas("4")), at(60, replicas("2"))}, nil},
	{"scale down pods that restart", web(6, "app:start-3s-stop-1s-flap-15s"), 4,
		[]Step{at(93, replicas("3")), at(150, replicas("1"))}, nil},
	{"scale to zero and back", web(3, one), 4, []Step{at(60, replicas("0")), at(100, replicas("3"))}, nil},
	{"scale in a rollout", web(10, one, surge("3", "2")), 6, []Step{at(90, image(never)), at(120, replicas("15"))},
		nil},
	{"scale down in a rollout", web(10, one, surge("3", "2")), 6, []Step{at(90, image(never)), at(120, replicas("5"))},
		nil},
	{"a new template and a new number at once", web(17, one), 5, []Step{
		at(60, image(two)),
		at(70, `{"spec": {"replicas": 15, "template": {"spec": {"containers": [{"name": "app", "image": "`+three+
			`"}]}}}}`),
	}, nil},
	{"pause and resume", web(4, one), 6, []Step{at(90, image(two)), at(95, pause), at(150, resume)}, nil},
	{"scale while paused", web(4, one), 6,
		[]Step{at(90, image(two)), at(105, pause), at(120, replicas("8")), at(150, resume)}, nil},
	{"a change while paused", web(3, one), 6,
		[]Step{at(60, pause), at(70, image(two)), at(100, image(three)), at(130, resume)}, nil},
	{"history", web(2, "app:start-1s-stop-1s", history(1)), 6, []Step{
		at(60, image("app:start-2s-stop-1s")), at(120, image("app:start-3s-stop-1s")),
		at(180, image("app:start-4s-stop-1s")),
	}, nil},
	{"a pod is deleted", web(3, one), 4,
		[]Step{{At: 61 * time.Second, Delete: "web-1-1"}, at(90, image(two)),
			{At: 95 * time.Second, Delete: "web-1-0"}}, nil},
	{"endpoints from the first address", web(3, "app:start-9s-stop-3s-boot-2s"), 3,
		[]Step{at(60, image("app:start-5s-stop-1s-boot-1s"))}, nil},
	{"endpoints that are not ready", web(3, "app:start-9s-stop-3s-boot-2s"), 3, []Step{at(60, image(two))},
		func(s *Scenario) { unready(s.Services[0]) }},
	{"a Service without pods", web(2, one), 2, nil,
		func(s *Scenario) { s.Services = []*v1.Service{selecting("web", "app", "other")} }},
	{"two Services", web(3, one), 4, []Step{at(90, image(two))}, func(s *Scenario) {
		s.Services = append(s.Services, selecting("shop", "team", "shop"))
	}},
	{"two Deployments behind one Service", web(3, one), 4,
		[]Step{at(90, image(two)), {At: 90 * time.Second, Of: "api", Patch: image(three)}}, func(s *Scenario) {
			s.Others, s.Services = []*appsv1.Deployment{named("api", 4, two)},
				[]*v1.Service{selecting("shop", "team", "shop")}
		}},
	{"more pods than a slice has", web(105, "app:start-1s-stop-1s"), 3, []Step{at(150, replicas("98"))}, nil},
	// upstream's end-to-end tests
	{"e2e: RollingUpdateDeployment should delete old pods and create new ones", web(1, one), 4,
		[]Step{at(60, image(two))}, nil},
	{"e2e: RecreateDeployment should delete old pods and create new ones", web(1, two, recreate), 4,
		[]Step{at(60, image(three))}, nil},
	{"e2e: deployment should delete old replica sets", web(1, two, history(0)), 4, []Step{at(60, image(three))}, nil},
	{"e2e: deployment should support rollover", web(1, two, minReady(10), surge("1", "0")), 5,
		[]Step{at(60, image(never)), at(63, image(three))}, nil},
	{"e2e: deployment should support proportional scaling", web(10, two, surge("3", "2")), 6,
		[]Step{at(90, image(never)), at(120, replicas("30"))}, nil},
	{"e2e: iterative rollouts", web(6, three, history(2), deadline(30)), 8, []Step{
		at(30, image(two)), at(41, undo), at(55, replicas("7")), at(60, pause), at(61, image("app:start-4s-stop-1s")),
		at(75, resume),
		{At: 77 * time.Second, Delete: "web-1-2"}, at(80, image(one)), at(90, replicas("5")), at(96, undo),
		at(120, pause), at(140, resume), at(141, undo),
		{At: 150 * time.Second, Delete: "web-2-1"}, at(160, image("app:start-6s-stop-1s")),
		at(165, image("app:start-7s-stop-1s")), at(170, undo),
	}, nil},
	{"e2e: should not disrupt a cloud load-balancer's connectivity during rollout", web(3, two, surge("100%", "0")), 4,
		[]Step{at(60, image(three))}, nil},
}

// TestScenarios compares traces of the simulator's controllers with those of the real ones, record
// by record.
func TestScenarios(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			s := Scenario{Deployment: c.of, Services: []*v1.Service{selecting("web", "app", "web")}, Steps: c.steps,
				Duration: time.Duration(c.minutes) * time.Minute}
			if c.change != nil {
				c.change(&s)
			}
			r, n := follow(t, s)
			if r.Divergence != nil {
				t.Error("the simulator's controllers do not do what the real ones do")
			}
			t.Logf("%d records, %d runs, %d choices", n, r.Runs, len(r.Made))
		})
	}
}
