package realcontrollers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// web returns a Deployment with replicas, after changes.
func web(replicas int32, image string, changes ...func(*appsv1.DeploymentSpec)) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: image}}},
			},
		},
	}
	for _, change := range changes {
		change(&d.Spec)
	}
	return d
}

func service() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Port: 80}}},
	}
}

func image(image string) string {
	return `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "` + image + `"}]}}}}`
}

func surge(surge, unavailable string) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) {
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.Parse(surge)), MaxUnavailable: ptr.To(intstr.Parse(unavailable))}
	}
}

func minReady(seconds int32) func(*appsv1.DeploymentSpec) {
	return func(s *appsv1.DeploymentSpec) { s.MinReadySeconds = seconds }
}

// TestScenarios compares traces of the simulator's controllers with those of the real ones, record by record.
func TestScenarios(t *testing.T) {
	const one, two = "app:start-20s-stop-1s", "app:start-9s-stop-2s"
	for _, c := range []struct {
		name     string
		scenario Scenario
	}{
		{"create", Scenario{Deployment: web(3, one), Service: service(), Duration: time.Minute}},
		{"rolling update", Scenario{Deployment: web(3, one), Service: service(), Duration: 6 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"one replica", Scenario{Deployment: web(1, one), Service: service(), Duration: 3 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"four replicas", Scenario{Deployment: web(4, one), Service: service(), Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"ten replicas", Scenario{Deployment: web(10, one), Service: service(), Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"no surge", Scenario{Deployment: web(5, one, surge("0", "2")), Service: service(), Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"all at once", Scenario{Deployment: web(5, one, surge("100%", "0")), Service: service(), Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"minReadySeconds", Scenario{Deployment: web(3, one, minReady(5)), Service: service(), Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}}}},
		{"never ready", Scenario{
			Deployment: web(3, one, func(s *appsv1.DeploymentSpec) { s.ProgressDeadlineSeconds = ptr.To[int32](60) }), Service: service(),
			Duration: 5 * time.Minute, Steps: []Step{{90 * time.Second, image("app:start-never-stop-1s")}},
		}},
		{"undo", Scenario{Deployment: web(4, one), Service: service(), Duration: 6 * time.Minute, Steps: []Step{
			{90 * time.Second, image("app:start-never-stop-1s")}, {150 * time.Second, ""},
		}}},
		{"rollover", Scenario{Deployment: web(4, one), Service: service(), Duration: 6 * time.Minute, Steps: []Step{
			{90 * time.Second, image(two)}, {105 * time.Second, image("app:start-5s-stop-1s")},
		}}},
		{"recreate", Scenario{
			Deployment: web(3, one, func(s *appsv1.DeploymentSpec) { s.Strategy.Type = appsv1.RecreateDeploymentStrategyType }), Service: service(),
			Duration: 4 * time.Minute, Steps: []Step{{90 * time.Second, image(two)}},
		}},
		{"scale", Scenario{Deployment: web(3, one), Service: service(), Duration: 4 * time.Minute, Steps: []Step{
			{90 * time.Second, `{"spec": {"replicas": 6}}`}, {150 * time.Second, `{"spec": {"replicas": 2}}`},
		}}},
		{"scale in a rollout", Scenario{Deployment: web(10, one, surge("3", "2")), Service: service(), Duration: 6 * time.Minute, Steps: []Step{
			{90 * time.Second, image("app:start-never-stop-1s")}, {120 * time.Second, `{"spec": {"replicas": 15}}`}, {150 * time.Second, `{"spec": {"replicas": 6}}`},
		}}},
		{"pause and resume", Scenario{Deployment: web(4, one), Service: service(), Duration: 6 * time.Minute, Steps: []Step{
			{90 * time.Second, image(two)}, {95 * time.Second, `{"spec": {"paused": true}}`}, {150 * time.Second, `{"spec": {"paused": false}}`},
		}}},
		{"history", Scenario{
			Deployment: web(2, "app:start-1s-stop-1s", func(s *appsv1.DeploymentSpec) { s.RevisionHistoryLimit = ptr.To[int32](1) }), Service: service(),
			Duration: 6 * time.Minute, Steps: []Step{{60 * time.Second, image("app:start-2s-stop-1s")}, {120 * time.Second, image("app:start-3s-stop-1s")}, {180 * time.Second, image("app:start-4s-stop-1s")}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := profile.Named(release.Version)
			want, err := Run(t, c.scenario, p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Simulate(c.scenario, p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
				t.Errorf("(- real controllers, + simulator):\n%s", diff)
			}
			t.Logf("%d records", len(want))
		})
	}
}

// lines returns the records as text, those of an instant in alphabetical order. It leaves out events, which both engines send apart from the
// rest, and how long a change of routes took.
func lines(records []trace.Record) []string {
	var list []string
	for _, r := range records {
		if r.Kind == trace.Event {
			continue
		}
		r.Took, r.Message = 0, ""
		list = append(list, strings.Join([]string{r.T.String(), r.Subject(), r.Summary()}, " "))
	}
	return byInstant(list)
}

// byInstant sorts the lines of each instant.
func byInstant(list []string) []string {
	for begin := 0; begin < len(list); {
		end := begin
		at, _, _ := strings.Cut(list[begin], " ")
		for end < len(list) && strings.HasPrefix(list[end], at+" ") {
			end++
		}
		slices.Sort(list[begin:end])
		begin = end
	}
	return list
}
