package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"probesim.dev/internal/world/apiserver/admission"
)

// TestAdmission checks that package admission gives random pods the same defaults as the API
// server, and reports the same errors.
func TestAdmission(t *testing.T) {
	const pods = 6000
	valid, different := 0, 0
	for seed := uint64(0); seed < pods && different < 10; seed++ {
		pod := newRandomPods(seed).pod()
		ours := pod.DeepCopy()
		admission.Default(ours)
		theirs := defaulted(pod)
		if diff := cmp.Diff(indented(t, theirs), indented(t, ours)); diff != "" {
			different++
			t.Errorf("seed %d: defaults (- API server, + admission):\n%s", seed, diff)
			continue
		}
		want, got := upstreamErrors(t, theirs), admissionErrors(ours)
		if diff := cmp.Diff(want, got); diff != "" {
			different++
			t.Errorf("seed %d: errors (- API server, + admission):\n%s", seed, diff)
		}
		if len(want) == 0 {
			valid++
		}
	}
	if valid < pods/20 {
		t.Errorf("only %d of the pods are valid", valid)
	}
	t.Logf("%d of %d pods are valid", valid, pods)
}

func indented(t *testing.T, pod *v1.Pod) string {
	t.Helper()
	text, err := json.MarshalIndent(pod, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// defaulted returns a copy of the pod with the API server's defaults, without those that package
// admission does not set.
func defaulted(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	corev1.SetObjectDefaults_Pod(pod)
	if pod.Namespace == "" {
		pod.Namespace = "default" // the API server takes it from the path of the request
	}
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if p != nil && p.HTTPGet != nil {
					p.HTTPGet.Protocol = nil // the feature is off by default
				}
			}
		}
	}
	return pod
}

func upstreamErrors(t *testing.T, pod *v1.Pod) []string {
	t.Helper()
	in := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, in, nil); err != nil {
		t.Fatal(err)
	}
	o := podutil.GetValidationOptionsFromPodSpecAndMeta(&in.Spec, nil, &in.ObjectMeta, nil)
	o.ResourceIsPod = true
	var list []string
	for _, err := range validation.ValidatePodCreate(in, o) {
		list = append(list, err.Error())
	}
	return comparable(list)
}

func admissionErrors(pod *v1.Pod) []string {
	var list []string
	for _, err := range admission.Validate(pod) {
		list = append(list, err.Error())
	}
	return comparable(list)
}

// comparable removes known differences in wording from a list of errors: package admission does not
// also report a missing name as a duplicate, the API server has a second error about an unknown
// resource, and it reports ports of the second init container with the index of the container.
func comparable(list []string) []string {
	list = slices.DeleteFunc(list, func(e string) bool {
		return strings.HasSuffix(e, `Duplicate value: ""`) ||
			strings.HasSuffix(e, "must be a standard resource type or fully qualified")
	})
	for i := range list {
		list[i] = strings.Replace(list[i], "initContainers[1].ports", "initContainers[0].ports", 1)
	}
	slices.Sort(list)
	return slices.Compact(append([]string{}, list...))
}
