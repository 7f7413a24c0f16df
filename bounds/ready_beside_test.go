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

// A container without probes leads to syncs only when it starts. The results of probes of a container can lead to syncs at any time, and one of them just
// before the end of initialDelaySeconds begins the period of the readiness probe again.
func TestReadyBesideProbes(t *testing.T) {
	pod := web()
	app := &pod.Spec.Containers[0]
	app.LivenessProbe, app.StartupProbe = nil, nil
	app.ReadinessProbe.InitialDelaySeconds, app.ReadinessProbe.PeriodSeconds = 10, 30
	greatest := func(helpers ...v1.Container) time.Duration {
		pod := pod.DeepCopy()
		pod.Spec.Containers = append(pod.Spec.Containers, helpers...)
		s, err := bounds.NewSubject(pod, "app", profile.Newest())
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.UntilReady(nodes, true)
		if err != nil {
			t.Fatal(err)
		}
		return b.Greatest
	}
	helper := v1.Container{Name: "helper", Image: "helper:1"}
	alone, beside := greatest(), greatest(helper)
	helper.ReadinessProbe = app.ReadinessProbe.DeepCopy()
	if probed := greatest(helper); alone > 34*time.Second || (beside-alone).Abs() > 3*time.Second || probed < 40*time.Second {
		t.Errorf("ready at the latest after %v alone, %v beside a container, %v beside one with a readiness probe", alone, beside, probed)
	}
}
