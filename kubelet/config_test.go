package kubelet

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The operation of an update depends on what changed in the API (Merge in
// pkg/kubelet/config/config.go at v1.37.0).
func TestMerge(t *testing.T) {
	base := &v1.Pod{}
	base.Generation = 1
	with := func(f func(*v1.Pod)) *v1.Pod { p := base.DeepCopy(); f(p); return p }
	annotated := func(keys ...string) *v1.Pod {
		return with(func(p *v1.Pod) {
			p.Annotations = map[string]string{}
			for _, key := range keys {
				p.Annotations[key] = "file"
			}
		})
	}
	deleted := with(func(p *v1.Pod) {
		p.Generation, p.DeletionGracePeriodSeconds, p.DeletionTimestamp = 2, seconds(30), &p.CreationTimestamp
	})
	for _, c := range []struct {
		name          string
		before, after *v1.Pod
		want          configOp
	}{
		{"new", nil, base, configAdd},
		{"unchanged", base, base.DeepCopy(), ""},
		{"changed spec", base, with(func(p *v1.Pod) { p.Generation, p.Spec.NodeName = 2, "node" }), configUpdated},
		{"changes that cancel each other", base, with(func(p *v1.Pod) { p.Generation = 3 }), ""},
		{"an annotation", base, annotated("kubernetes.io/config.hash"), configUpdated},
		{"annotations that the kubelet replaces", base,
			annotated("kubernetes.io/config.source", "kubernetes.io/config.seen"), ""},
		{"deletion", base, deleted, configDelete},
		{"a shorter grace period", deleted, func() *v1.Pod {
			p := deleted.DeepCopy()
			p.DeletionGracePeriodSeconds = seconds(5)
			return p
		}(), configDelete},
		{"the status, and changes that cancel each other", base, with(func(p *v1.Pod) {
			p.Generation, p.Status.Phase = 3, v1.PodRunning
		}), configReconcile},
		{"the status", base, with(func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }), configReconcile},
	} {
		got, pod := merge(c.before, c.after)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if keeps := got == "" || got == configReconcile; keeps && pod.Generation != c.before.Generation {
			t.Errorf("%s: the generation is %d, want %d as before", c.name, pod.Generation, c.before.Generation)
		}
	}
}
