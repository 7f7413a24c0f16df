package replicaset

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var now = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// pod returns a pod on a node that has been Ready for a time; a negative time means that it is not
// Ready, and 0 that nobody knows.
func pod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: v1.PodSpec{NodeName: "node",
			InitContainers: []v1.Container{{Name: "sidecar", RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways)}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func readyFor(age time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) {
		c := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
		if age > 0 {
			c.LastTransitionTime = metav1.NewTime(now.Add(-age))
		}
		p.Status.Conditions = []v1.PodCondition{c}
	}
}

func restarted(app, sidecar int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: app}}
		p.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "sidecar", RestartCount: sidecar}}
	}
}

func cost(n int) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": fmt.Sprint(n)}
	}
}

func phase(phase v1.PodPhase) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Phase = phase } }
func unbound(p *v1.Pod)                     { p.Spec.NodeName = "" }
func on(node string) func(*v1.Pod)          { return func(p *v1.Pod) { p.Spec.NodeName = node } }
func created(age time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-age)) }
}

// The first pod is deleted before the second one, by the first rule in which they differ
// (TestSortingActivePodsWithRanks in pkg/controller/controller_utils_test.go).
func TestRanks(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name          string
		first, second *v1.Pod
	}{
		{"not bound", pod("a", unbound, phase(v1.PodPending)), pod("b", phase(v1.PodPending))},
		{"pending", pod("a", phase(v1.PodPending)), pod("b", phase(v1.PodUnknown))},
		{"unknown", pod("a", phase(v1.PodUnknown)), pod("b")},
		{"not Ready", pod("b"), pod("a", readyFor(0))},
		{"a low cost", pod("b", readyFor(2*hour), cost(10)), pod("a", readyFor(hour), cost(100))},
		{"more neighbors", pod("b", readyFor(2*hour), on("full")), pod("a", readyFor(hour), on("empty"))},
		{"Ready since nobody knows when", pod("b", readyFor(0)), pod("a", readyFor(hour))},
		{"Ready for less time", pod("b", readyFor(hour)), pod("a", readyFor(5*hour))},
		{"Ready for about the same time: the UID", pod("a", readyFor(7*hour)), pod("b", readyFor(6*hour))},
		{"more restarts", pod("b", readyFor(hour), restarted(2, 0)), pod("a", readyFor(hour), restarted(1, 5))},
		{"more restarts of the sidecar", pod("b", readyFor(hour), restarted(1, 5)),
			pod("a", readyFor(hour), restarted(1, 0))},
		{"younger", pod("b", readyFor(hour), created(2*hour)), pod("a", readyFor(hour), created(20*hour))},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &ranks{now: now, neighbors: map[string]int{"full": 2, "empty": 1}, uid: map[types.UID]float64{},
				draw: func(*v1.Pod) float64 {
					return 0.5
				}}
			if r.compare(c.first, c.second) >= 0 || r.compare(c.second, c.first) <= 0 {
				t.Errorf("got %d and %d", r.compare(c.first, c.second), r.compare(c.second, c.first))
			}
			if r.compare(c.first, c.first) != 0 {
				t.Error("a pod differs from itself")
			}
		})
	}
}
