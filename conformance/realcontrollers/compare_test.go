package realcontrollers

import (
	"flag"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/explore"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
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
			{90 * time.Second, image("app:start-never-stop-1s")}, {120 * time.Second, `{"spec": {"replicas": 15}}`},
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
			r, n := follow(t, c.scenario)
			if r.Divergence != nil {
				t.Error("the simulator's controllers do not do what the real ones do")
			}
			t.Logf("%d records, %d runs, %d choices", n, r.Runs, len(r.Made))
		})
	}
}

// follow runs a scenario on the real controllers, searches for the same run of the simulator's, and returns the number of records.
func follow(t *testing.T, s Scenario) (explore.Result, int) {
	t.Helper()
	p, _ := profile.Named(release.Version)
	want, turns, err := Run(t, s, p)
	if err != nil {
		t.Fatal(err)
	}
	want = compared(want)
	r := explore.Follow(explore.Options{
		Want: want, Duration: s.Duration, Log: turns,
		Run: func(c choose.Chooser, clock func(func() virtual.Time), until virtual.Time, _ bool) ([]trace.Record, error) {
			records, err := Simulate(s, p, c, clock, until)
			return compared(records), err
		},
	})
	if r.Divergence != nil {
		t.Logf("after %d runs: %s", r.Runs, r.Divergence.Text(want))
	}
	return r, len(want)
}

var (
	first  = flag.Uint64("first", 1, "the first seed of TestRandom")
	number = flag.Uint64("number", 20, "the number of seeds of TestRandom")
)

// TestRandom compares random scenarios.
func TestRandom(t *testing.T) {
	runs, once := 0, 0
	var different []uint64
	for seed := *first; seed < *first+*number; seed++ {
		r, _ := follow(t, Random(seed))
		runs += r.Runs
		if r.Runs == 1 {
			once++
		}
		if r.Divergence != nil {
			different = append(different, seed)
			t.Errorf("seed %d differs", seed)
		}
	}
	t.Logf("%d of %d scenarios are equal, %d in the first run; %d runs; different: %v", *number-uint64(len(different)), *number, once, runs, different)
}

// compared returns the records that the comparison covers. It leaves out events, which both engines send apart from the rest, and how long a
// router took, which the real one does not say. Of the syncs that fail it has those of EndpointSlices, one at each instant: they are tried
// again a second later. A ReplicaSet is tried again within milliseconds, so what its syncs do shows when they failed.
func compared(records []trace.Record) []trace.Record {
	var list []trace.Record
	failed := map[string]virtual.Time{}
	for _, r := range records {
		switch r.Kind {
		case trace.Event:
			continue
		case trace.RoutesChanged:
			r.Took, r.Message = 0, ""
		case trace.SyncFailed:
			key := r.Reason + " " + r.Object.Name
			if at, again := failed[key]; r.Reason != "endpointslice" || again && at == r.T {
				continue
			}
			failed[key] = r.T
			r.Kind, r.Message, r.Cause = trace.Event, "", 0 // an observable kind
		}
		list = append(list, r)
	}
	return list
}
