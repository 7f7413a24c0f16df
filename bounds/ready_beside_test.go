package bounds_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
)

// The kubelet shows the start of a container after the hook of the next container, so the first probe run comes long after the start. A program that
// comes up after that run is ready soon after it.
func TestReadyLaterBesideLongHook(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].LivenessProbe, pod.Spec.Containers[0].StartupProbe = nil, nil
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "slow", Image: "slow:1", Lifecycle: &v1.Lifecycle{
		PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sleep", "30"}}},
	}})
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func(bounds.Nodes, bool) (bounds.Bound, error){s.UntilReady, s.UntilReadyOnYoungKubelet} {
		if b, err := ask(nodes, false); err != nil || b.Least > time.Second || b.Greatest > 10*time.Second {
			t.Errorf("the container is ready after %v to %v, error %v", b.Least, b.Greatest, err)
		}
	}
}
