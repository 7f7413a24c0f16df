package play

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// run is what a node does with the pod web: it starts 1 s after its creation, is ready 2 s later,
// and ends 3 s after its deletion.
func runWeb(s *fakeServer, pod map[string]any) {
	began := time.Now()
	at := func() virtual.Time { return virtual.At(time.Since(began)) }
	time.Sleep(10 * time.Millisecond)
	s.update(pod, func(p *v1.Pod) {
		p.Spec.NodeName = "node"
		p.Status.Phase, p.Status.StartTime = v1.PodPending, new(metav1.Now())
	})
	time.Sleep(890 * time.Millisecond)
	s.event(pod, "app", "Normal", "Pulled", "Container image present")
	time.Sleep(40 * time.Millisecond)
	s.event(pod, "app", "Normal", "Created", "Created container app")
	time.Sleep(60 * time.Millisecond)
	s.event(pod, "app", "Normal", "Started", "Started container app")
	time.Sleep(10 * time.Millisecond)
	s.line(pod, "app", trace.Record{T: at(), Kind: trace.ContainerStarted})
	running := v1.ContainerStatus{Name: "app", ContainerID: "containerd://1",
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	s.update(pod, func(p *v1.Pod) {
		p.Status.Phase, p.Status.ContainerStatuses = v1.PodRunning, []v1.ContainerStatus{running}
	})
	time.Sleep(2 * time.Second)
	s.line(pod, "app", trace.Record{T: at(), Kind: trace.ProbeExecuted, Probe: trace.Readiness, Result: trace.Success})
	time.Sleep(time.Millisecond)
	s.update(pod, func(p *v1.Pod) {
		p.Status.ContainerStatuses[0].Ready = true
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	})
}

// newPlay prepares a play of the scenario web.
func newPlay(t *testing.T, c *Cluster, namespace string) *Play {
	return newPlayOf(t, c, namespace, web)
}

func newPlayOf(t *testing.T, c *Cluster, namespace, scenario string) *Play {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(c, Options{Image: "probesim:dev", Namespace: namespace}, []*plan.Plan{planOf(t, file)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlay plays a scenario: its trace is what the watches and the logs show, and nothing is left.
func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.onCreate = runWeb
		p := newPlay(t, s.cluster(t), "")
		if err := p.Play(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		if len(s.objects) != countEvents(s) {
			t.Errorf("there are %d objects left", len(s.objects)-countEvents(s))
		}
		var got []string
		for _, r := range p.Runs[0].Result.Records {
			got = append(got, strings.TrimSpace(r.T.String()+" "+string(r.Kind)+" "+r.Reason))
		}
		want := []string{"0s PodAdded", "10ms StatusPatched", "900ms Event Pulled", "940ms Event Created",
			"999.999999ms ContainerStarted", "1s Event Started", "1.01s StatusPatched", "3.01s ProbeExecuted",
			"3.011s StatusPatched", "20s PodDeleteRequested", "20s PodRemoved"}
		if !slices.Equal(got, want) {
			t.Errorf("the trace is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if r := p.Runs[0].Result; r.Err != nil || r.Results[0].Outcome != report.OK {
			t.Errorf("the expectation: %v, %+v", r.Err, r.Results)
		}
		if node := p.Node().String(); node != "{runPodSandbox: 890ms..890ms, createContainer: 40ms..40ms, "+
			"startContainer: 60ms..60ms}" {
			t.Errorf("the delays are %s", node)
		}
	})
}

func countEvents(s *fakeServer) (n int) {
	for path := range s.objects {
		if strings.Contains(path, "/events/") {
			n++
		}
	}
	return n
}

// TestClusterRefuses checks that a play ends with what the cluster says, and leaves nothing behind.
func TestClusterRefuses(t *testing.T) {
	waiting := func(reason string) func(*fakeServer, map[string]any) {
		return func(s *fakeServer, pod map[string]any) {
			s.update(pod, func(p *v1.Pod) {
				p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app",
					State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: "not found"}}}}
			})
		}
	}
	for _, test := range []struct {
		name, path, message string
		onCreate            func(*fakeServer, map[string]any)
		want                string
	}{
		{"namespace", "/api/v1/namespaces", "namespaces is forbidden", nil,
			"cannot create namespace probesim-play-ID: namespaces is forbidden\nUse a namespace that exists with " +
				"--namespace"},
		{"quota", "/pods", "pods \"web\" is forbidden: exceeded quota", nil,
			"the cluster refuses Pod pID-1-web: pods \"web\" is forbidden: exceeded quota"},
		{"watch", "/events", "events is forbidden", nil,
			"cannot watch Events in namespace probesim-play-ID: events is forbidden"},
		{"image", "", "", waiting("ErrImagePull"), "the image probesim:dev cannot be used: ErrImagePull: not found"},
		{"player", "", "", func(s *fakeServer, pod map[string]any) {
			s.log(pod["metadata"].(map[string]any)["name"].(string), "app") <- "probesim player: no scenario"
			s.update(pod, func(p *v1.Pod) {
				p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", ContainerID: "containerd://1"}}
			})
		}, "the player of container app in pod default/web: no scenario"},
		{"nodes", "", "", func(s *fakeServer, pod map[string]any) {
			s.update(pod, func(p *v1.Pod) {
				p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse,
					Reason: v1.PodReasonUnschedulable, Message: "0/3 nodes are available"}}
			})
		}, "no node takes pod pID-1-web: 0/3 nodes are available"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t)
				s.onCreate = test.onCreate
				s.refuse = func(method, path string, _ map[string]any) (int, string) {
					asked := method == "POST" || test.name == "watch"
					if test.path != "" && strings.HasSuffix(path, test.path) && asked {
						return 403, test.message
					}
					return 0, ""
				}
				p := newPlay(t, s.cluster(t), "")
				err := p.Play(t.Context())
				want := strings.ReplaceAll(test.want, "ID", p.ID)
				if !errors.As(err, new(Unexpected)) || err.Error() != want {
					t.Errorf("the error is %q, want %q", err, want)
				}
				s.refuse = nil
				if err := p.Remove(t.Context()); err != nil || len(s.objects) > 0 {
					t.Errorf("%d objects are left: %v", len(s.objects), err)
				}
			})
		})
	}
}

// TestGivenNamespace checks that a play in a namespace of somebody else removes its own objects
// only.
func TestGivenNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.onCreate = runWeb
		other := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"}}
		s.objects["/api/v1/namespaces/given/pods/web"] = other
		p := newPlay(t, s.cluster(t), "given")
		if err := errors.Join(p.Play(t.Context()), p.Remove(t.Context())); err != nil {
			t.Fatal(err)
		}
		if len(s.objects)-countEvents(s) != 1 || s.objects["/api/v1/namespaces/given/pods/web"] == nil {
			t.Errorf("the objects left are %v", s.objects)
		}
	})
}

// TestRoleIsEnough checks that plays ask for nothing but what the role of the examples allows.
func TestRoleIsEnough(t *testing.T) {
	data, err := os.ReadFile("../../../examples/play/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var role struct {
			Rules []struct{ Resources, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed[verb+" "+resource] = true
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.onCreate = runWeb
		p := newPlay(t, s.cluster(t), "")
		if err := errors.Join(p.Play(t.Context()), p.Remove(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := p.cluster.Leftovers(t.Context(), "given"); err != nil {
			t.Fatal(err)
		}
		for _, asked := range slices.Sorted(maps.Keys(s.asked)) {
			if !allowed[asked] {
				t.Errorf("a play asks for %q, which the role does not allow", asked)
			}
		}
		if len(s.asked) < 10 {
			t.Errorf("a play asks for %v only", s.asked)
		}
	})
}

// TestInterrupt checks that an interrupted play ends at once, and that its objects can be removed.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.onCreate = runWeb
		p := newPlay(t, s.cluster(t), "")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		began := time.Now()
		if err := p.Play(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > 6*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := p.Remove(context.Background()); err != nil || len(s.objects) > countEvents(s) {
			t.Errorf("%d objects are left: %v", len(s.objects), err)
		}
	})
}

// TestLeftovers checks what --clean finds and removes.
func TestLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		c := s.cluster(t)
		a, b := newPlay(t, c, ""), newPlay(t, c, "given")
		if err := c.create(t.Context(), "", a.namespaceObject()); err != nil {
			t.Fatal(err)
		}
		objects, err := b.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if err := c.create(t.Context(), "given", o); err != nil {
				t.Fatal(err)
			}
		}
		left, err := c.Leftovers(t.Context(), "given")
		if err != nil || len(left) != 2 || left[0].ID != a.ID || left[1].ID != b.ID ||
			time.Until(left[0].Deadline) != 30*time.Second+spare {
			t.Fatalf("the leftovers are %+v, %v", left, err)
		}
		for _, l := range left {
			if err := c.RemoveLeftover(t.Context(), l); err != nil {
				t.Error(err)
			}
		}
		if len(s.objects) > 0 {
			t.Errorf("%d objects are left", len(s.objects))
		}
	})
}

// requests is a Deployment with requests.
const requests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 30s
  controlPlane: {}
  pods: [{name: web}]
  services: [{name: web}]
  traffic: [{service: web, rps: 10}]
  steps: [{at: 20s, rollout: {workload: web, restart: true}}]
  expect:
  - {within: 0s..30s, service: web, lost: 5}
`

// TestRequests checks which losses of clients count: those since the first answer, or since the
// first change of a Deployment, or all if there is neither. Clients that tell nothing are an error.
func TestRequests(t *testing.T) {
	of := func(at time.Duration, kind trace.Kind, lost float64) trace.Record {
		return trace.Record{T: virtual.At(at), Kind: kind, Object: &trace.Object{Name: "Service default/web",
			Loss: &trace.Loss{Rate: 10, One: 1, Of: 1, Lost: lost}}}
	}
	loss := func(at time.Duration, lost float64) []trace.Record {
		ended := of(at, trace.LossEnded, lost)
		ended.Took = time.Second
		return []trace.Record{of(at-time.Second, trace.LossStarted, 0), ended}
	}
	early, late := loss(3*time.Second, 7), loss(25*time.Second, 5)
	answered := trace.Record{T: virtual.At(4 * time.Second), Kind: trace.RoutesChanged,
		Object: &trace.Object{Name: "Service default/web"}}
	for _, test := range []struct {
		name  string
		tells []trace.Record
		lost  float64 // less than 0: an error
	}{
		{"answered at 4 s", slices.Concat(early, []trace.Record{answered}, late), 5},
		{"never answered", slices.Concat(early, late), 5},
		{"nothing told", nil, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer(t)
			s.onCreate = func(s *fakeServer, pod map[string]any) {
				s.update(pod, func(p *v1.Pod) {
					p.Status.ContainerStatuses = []v1.ContainerStatus{
						{Name: manifest.ClientContainer, ContainerID: "1"}}
				})
				for _, r := range test.tells {
					s.line(pod, manifest.ClientContainer, r)
				}
			}
			p := newPlayOf(t, s.cluster(t), "", requests)
			err := p.Play(t.Context())
			if test.lost < 0 {
				if err == nil || !strings.Contains(err.Error(), "have sent no request") {
					t.Errorf("%s: %v", test.name, err)
				}
				return
			}
			r := p.Runs[0].Result
			lost := lostOf("default/web", r.Records, r.End)
			if err != nil || lost != test.lost || r.Results[0].Outcome != report.OK {
				t.Errorf("%s: %v, %+v", test.name, err, r.Records)
			}
			c := &Comparison{}
			c.compareLosses(r, [][]trace.Record{early, late}, p.Runs[0].Plan.Streams())
			want := "5 requests to web lost, 5 to 7 in simulated runs"
			if got := c.Losses[0].String(); got != want {
				t.Errorf("%s: %s, want %s", test.name, got, want)
			}
		})
	}
}
