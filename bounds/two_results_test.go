package bounds

import (
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
)

// Two probes that look at a new container at one tick have a result each. The kubelet keeps only the newest update of a pod for a worker that has
// not begun with the one before (UpdatePod in pkg/kubelet/pod_workers.go at v1.37.0). So the order of events at this instant decides whether the
// results lead to one sync or to two. The second one waits for a relist, and then the sync for the success of the startup probe waits for
// another one. Both orders are common: the real kubelet had each about half of the time in 40 runs on a busy machine.
func TestTwoResultsAtOneTick(t *testing.T) {
	check := func() *v1.Probe {
		return &v1.Probe{PeriodSeconds: 1, FailureThreshold: 3, TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", StartupProbe: check(), ReadinessProbe: check(),
	}}}}
	s, err := NewSubject(pod, "app", profile.V1_37_0)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n time.Duration) *fakeruntime.Draw { return new(fakeruntime.Exactly(n * time.Millisecond)) }
	c := s.center(Nodes{Delays: fakeruntime.Delays{
		RunPodSandbox: ms(100), CreateContainer: ms(252), StartContainer: ms(300), Exec: ms(200), APIGet: ms(30), APIPatch: ms(50),
		ListPodSandbox: ms(30), ListContainers: ms(30), PodSandboxStatus: ms(30), ContainerStatus: ms(30),
	}})
	c.Uptime = 3337 * time.Millisecond
	times := map[time.Duration]int{}
	for seed := range int64(40) {
		c.Seed = &seed
		one, err := s.upAt(c, 1001*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		times[one.bound.Least]++
	}
	if got := slices.Sorted(maps.Keys(times)); !slices.Equal(got, []time.Duration{1479 * time.Millisecond, 2279 * time.Millisecond}) {
		t.Errorf("the container becomes ready after %v, want 1.479s and 2.279s", times)
	}
}
