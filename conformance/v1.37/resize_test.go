package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	kubepodutil "probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
)

// TestResize checks that package admission rejects random resizes with the errors of the API
// server, and that it knows the quality of service of pods.
func TestResize(t *testing.T) {
	seen, accepted, different := map[string]int{}, 0, 0
	for seed := uint64(0); seed < 40000 && different < 10; seed++ {
		r := newRandomPods(seed)
		old := r.resizablePod()
		admission.Default(old)
		if len(admission.Validate(old)) > 0 {
			continue
		}
		old.Status.QOSClass = qos.ComputePodQOS(old)
		if got := kubepodutil.QOSClass(&old.Spec); got != old.Status.QOSClass {
			different++
			t.Errorf("seed %d: quality of service %s, want %s", seed, got, old.Status.QOSClass)
		}
		pod := old.DeepCopy()
		r.resize(pod)
		admission.Default(pod)
		want := []string{}
		for _, err := range upstreamResizeErrors(t, pod, old) {
			seen[err.Detail]++
			want = append(want, err.Error())
		}
		got := []string{}
		for _, err := range admission.ValidateResize(profile.Newest(), pod, old) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
			different++
			t.Errorf("seed %d: errors (- API server, + admission):\n%s\nbefore %s\nafter %s", seed, diff,
				indented(t, old), indented(t, pod))
		}
		if len(want) == 0 {
			accepted++
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d resizes are accepted", accepted)
	}
	for _, detail := range []string{
		"Pod QOS Class may not change as a result of resizing", "resource requests cannot be removed",
		"resource limits cannot be removed",
		"only cpu and memory resources are mutable",
		"only cpu and memory resources for init or sidecar containers are mutable",
		"non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
		"containers may not be added or removed on resize", "initContainers may not be renamed or reordered on resize",
		"must be greater than or equal to 0", "must be less than or equal to cpu limit of 2",
	} {
		if seen[detail] == 0 {
			t.Errorf("no resize has the error %q", detail)
		}
	}
	t.Logf("%d accepted, errors %v", accepted, seen)
}

func upstreamResizeErrors(t *testing.T, pod, old *v1.Pod) field.ErrorList {
	t.Helper()
	in, before := &core.Pod{}, &core.Pod{}
	for to, from := range map[*core.Pod]*v1.Pod{in: pod, before: old} {
		if err := corev1.Convert_v1_Pod_To_core_Pod(from.DeepCopy(), to, nil); err != nil {
			t.Fatal(err)
		}
	}
	o := podutil.GetValidationOptionsFromPodSpecAndMeta(&in.Spec, &before.Spec, &in.ObjectMeta, &before.ObjectMeta)
	o.ResourceIsPod = true
	return validation.ValidatePodResize(in, before, o)
}

// resizablePod returns a pod that is mostly valid.
func (r randomPods) resizablePod() *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.Namespace, p.UID, p.ResourceVersion = "web", "default", "x", "1"
	container := func(name string) v1.Container {
		return v1.Container{Name: name, Image: "x:1", Resources: r.resources(), ResizePolicy: r.resizePolicies()}
	}
	for i := range 1 + r.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, container("ab"[i:i+1]))
	}
	for i := range r.IntN(3) {
		c := container("de"[i : i+1])
		if r.rarely(2) {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	return p
}

// resize changes the containers of a pod.
func (r randomPods) resize(p *v1.Pod) {
	for _, containers := range [][]v1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
				if r.rarely(2) {
					c.Resources.Requests[name] = resource.MustParse(one(r, "2", "100m", "-1", "0"))
				}
				if limit, limited := c.Resources.Limits[name]; limited && !r.isWild() {
					c.Resources.Requests[name] = limit
				}
			}
			switch {
			case r.isWild() && r.rarely(2):
				c.Resources = r.resources()
			case r.isWild() && r.rarely(3):
				c.ResizePolicy = r.resizePolicies()
			case r.isWild() && r.rarely(4):
				c.Image = "x:2"
			case r.isWild() && r.rarely(4):
				c.Name = "z"
			}
		}
	}
	switch {
	case r.isWild() && r.rarely(6):
		p.Spec.Containers = p.Spec.Containers[:len(p.Spec.Containers)-1]
	case r.isWild() && r.rarely(6):
		p.Spec.InitContainers = slices.Insert(p.Spec.InitContainers, 0, v1.Container{Name: "y", Image: "x:1"})
	case r.isWild() && r.rarely(6):
		p.Spec.ActiveDeadlineSeconds = new(int64(9))
	}
}
