package admission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"probesim.dev/kube/profile"
)

// stored returns an admitted pod of generation 3 with two containers.
func stored(t *testing.T) *v1.Pod {
	t.Helper()
	pod := valid()
	pod.Labels = map[string]string{"a": "b"}
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "log", Image: "log:1"})
	pod, err := Admit(profile.Newest(), pod)
	if err != nil {
		t.Fatal(err)
	}
	pod.Generation, pod.Status.Phase = 3, v1.PodRunning
	return pod
}

func TestPatch(t *testing.T) {
	pod := stored(t)
	for _, test := range []struct {
		patch      string
		generation int64
		label      string
		image      string
	}{
		{`{}`, 3, "b", "web:1"},
		{`{"metadata": {"labels": {"a": "c"}}}`, 3, "c", "web:1"},
		{`{"metadata": {"labels": {"a": null}}}`, 3, "", "web:1"},
		{`{"spec": {"containers": [{"name": "app", "image": "web:2"}]}}`, 4, "b", "web:2"},
		{`{"spec": {"containers": [{"name": "app", "image": "web:1"}]}}`, 3, "b", "web:1"},
	} {
		after, err := Patch(profile.Newest(), pod, []byte(test.patch))
		if err != nil {
			t.Errorf("%s: %v", test.patch, err)
			continue
		}
		app := after.Spec.Containers[0]
		if after.Generation != test.generation || after.Labels["a"] != test.label || app.Image != test.image ||
			len(after.Spec.Containers) != 2 || after.Status.Phase != v1.PodRunning {
			t.Errorf("%s gives %+v", test.patch, after)
		}
	}
	if !reflect.DeepEqual(pod, stored(t)) {
		t.Errorf("Patch changed its argument to %+v", pod)
	}
}

// With the gate MutableContainerProbes, a patch adds, changes and removes the probes of a pod that
// runs. The new probe gets its defaults.
func TestPatchProbes(t *testing.T) {
	p := profile.V1_38_preview
	p.MutableContainerProbes = true
	const patch = `{"spec": {"containers": [{"name": "app", "livenessProbe": null, "readinessProbe": {"exec": ` +
		`{"command": ["x"]}}}]}}`
	running := stored(t)
	running.Spec.Containers[0].LivenessProbe = &v1.Probe{
		ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}}, PeriodSeconds: 5,
		TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	after, err := Patch(p, running, []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if c := after.Spec.Containers[0]; c.LivenessProbe != nil || c.ReadinessProbe == nil ||
		c.ReadinessProbe.PeriodSeconds != 10 || after.Generation != 4 {
		t.Errorf("the container is %+v in generation %d", c, after.Generation)
	}
	for _, test := range []struct {
		change func(*profile.Profile, *v1.Pod)
		patch  string
		text   string
	}{
		{func(p *profile.Profile, _ *v1.Pod) {
			p.MutableContainerProbes = false
		}, patch, "livenessProbe: Forbidden: a patch can change a probe only with the feature gate " +
			"MutableContainerProbes, which is off"},
		{func(p *profile.Profile, _ *v1.Pod) { *p = profile.Newest() }, patch, "which v1.37 does not have"},
		{func(_ *profile.Profile, pod *v1.Pod) {
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		}, patch, "readinessProbe: Forbidden: may not be changed while the pod terminates"},
		{func(_ *profile.Profile, pod *v1.Pod) {
			pod.Status.Phase = v1.PodFailed
		}, patch, "may not be changed after the pod has terminated"},
		{func(_ *profile.Profile, pod *v1.Pod) {
			pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
		}, patch, "the probes of a static pod come from its manifest"},
		{func(*profile.Profile, *v1.Pod) {},
			`{"spec": {"containers": [{"name": "app", "livenessProbe": {"periodSeconds": -1}}]}}`,
			"livenessProbe.periodSeconds: Invalid"},
		{func(*profile.Profile, *v1.Pod) {}, `{"spec": {"restartPolicy": "Never"}}`,
			"a patch can change only the images and probes of containers"},
	} {
		p, pod := p, running.DeepCopy()
		test.change(&p, pod)
		if _, err := Patch(p, pod, []byte(test.patch)); !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), test.text) {
			t.Errorf("error %v; want one with %q", err, test.text)
		}
	}
}

func TestPatchErrors(t *testing.T) {
	for _, test := range []struct {
		patch string
		is    func(error) bool
		text  string
	}{
		{`{"spec": `, apierrors.IsBadRequest, "cannot apply the patch"},
		{`{"spec": {"containers": [{"image": "web:2"}]}}`, apierrors.IsBadRequest,
			"does not contain declared merge key: name"},
		{`{"spec": {"restartPolicy": "Never"}}`, apierrors.IsInvalid, "spec: Forbidden"},
		{`{"spec": {"containers": [{"name": "app", "image": ""}]}}`, apierrors.IsInvalid,
			"spec.containers[0].image: Required"},
		{`{"metadata": {"labels": {"a": "b c"}}}`, apierrors.IsInvalid, "metadata.labels: Invalid"},
		{`{"metadata": {"annotations": {"kubernetes.io/config.mirror": ""}}}`, apierrors.IsInvalid,
			"metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"},
	} {
		if _, err := Patch(profile.Newest(), stored(t), []byte(test.patch)); !test.is(err) ||
			!strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: error %v; want one with %q", test.patch, err, test.text)
		}
	}
}

// A patch cannot add fields whose feature gate is off: the API server drops them.
func TestPatchDropsDisabledFields(t *testing.T) {
	patch := []byte(`{"spec": {"containers": [{"name": "app", "restartPolicy": "Never"}]}}`)
	after, err := Patch(profile.V1_34, stored(t), patch)
	if err != nil || after.Spec.Containers[0].RestartPolicy != nil || after.Generation != 3 {
		t.Errorf("with the gate off: %+v, %v", after, err)
	}
	if _, err := Patch(profile.V1_37, stored(t), patch); !apierrors.IsInvalid(err) {
		t.Errorf("with the gate on: error %v", err)
	}
}

func TestPatchStatus(t *testing.T) {
	pod := stored(t)
	pod.Status.Conditions = []v1.PodCondition{{Type: "gate", Status: "False"}, {Type: "Ready", Status: "False"}}
	after, err := PatchStatus(pod,
		[]byte(`{"metadata": {"labels": {"a": "c"}}, "status": {"conditions": [{"type": "gate", "status": "True"}]}}`))
	if err != nil || findCondition(after.Status.Conditions, "gate").Status != "True" ||
		findCondition(after.Status.Conditions, "Ready").Status != "False" {
		t.Errorf("got %+v, %v", after, err)
	}
	if after.Generation != 3 || after.Labels["a"] != "b" || pod.Status.Conditions[0].Status != "False" {
		t.Errorf("more than the status of the copy has changed: %+v of %+v", after, pod)
	}
	if _, err := PatchStatus(pod, []byte(`{"status": {"phase": "Failed"}}`)); !apierrors.IsInvalid(err) {
		t.Errorf("a patch of the phase: error %v", err)
	}
	if _, err := PatchStatus(pod, []byte(`[`)); !apierrors.IsBadRequest(err) {
		t.Errorf("an unreadable patch: error %v", err)
	}
}

// A client that writes conditions keeps those that others have written since it read the status.
func TestMergeConditions(t *testing.T) {
	parse := func(text string) []v1.PodCondition {
		var list []v1.PodCondition
		for _, field := range strings.Fields(text) {
			name, status, _ := strings.Cut(field, "=")
			list = append(list, v1.PodCondition{Type: v1.PodConditionType(name), Status: v1.ConditionStatus(status)})
		}
		return list
	}
	for _, test := range []struct{ now, read, want, merged string }{
		{"Ready=False gate=True", "Ready=False gate=True", "Ready=True gate=True", "Ready=True gate=True"},
		{"Ready=False gate=True", "Ready=False", "Ready=True", "Ready=True gate=True"},
		{"Ready=False gate=True", "Ready=False gate=False", "gate=False Ready=True", "gate=True Ready=True"},
		{"Ready=False", "Ready=False gate=False", "Ready=True gate=False", "Ready=True"},
		{"Ready=False old=True", "Ready=False old=True", "Ready=False", "Ready=False"},
		{"gate=True", "", "Ready=False", "Ready=False gate=True"},
	} {
		got := MergeConditions(parse(test.now), parse(test.read), parse(test.want))
		if !reflect.DeepEqual(got, parse(test.merged)) {
			t.Errorf("%q, read %q, written %q: got %v, want %q", test.now, test.read, test.want, got, test.merged)
		}
	}
}

// MergeConditions merges as the API server does with the patch that the kubelet computes.
func TestMergeConditionsAsAPatch(t *testing.T) {
	var lists [][]v1.PodCondition
	for _, types := range []string{"", "a", "ab", "ba", "abc", "cba"} {
		for bits := range 1 << len(types) {
			list := []v1.PodCondition{}
			for i, name := range types {
				c := v1.PodCondition{Type: v1.PodConditionType(name), Status: v1.ConditionTrue}
				if bits>>i&1 == 1 {
					c.Status = v1.ConditionFalse
				}
				list = append(list, c)
			}
			lists = append(lists, list)
		}
	}
	bytesOf := func(conditions []v1.PodCondition) []byte {
		text, err := json.Marshal(v1.Pod{Status: v1.PodStatus{Conditions: conditions}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, read := range lists {
		for _, want := range lists {
			patch, err := strategicpatch.CreateTwoWayMergePatch(bytesOf(read), bytesOf(want), v1.Pod{})
			if err != nil {
				t.Fatal(err)
			}
			if string(patch) == "{}" || len(want) == 0 {
				continue
			}
			for _, now := range lists {
				merged, err := strategicpatch.StrategicMergePatch(bytesOf(now), patch, v1.Pod{})
				if err != nil {
					t.Fatal(err)
				}
				var after v1.Pod
				if err := json.Unmarshal(merged, &after); err != nil {
					t.Fatal(err)
				}
				if got := MergeConditions(now, read, want); !slices.Equal(got, after.Status.Conditions) {
					t.Fatalf("now %v, read %v, want %v: got\n%v, want\n%v", now, read, want, got,
						after.Status.Conditions)
				}
			}
		}
	}
}

// Admit works on a copy and can be repeated.
func TestAdmit(t *testing.T) {
	pod := valid()
	pod.Spec.Containers[0].RestartPolicy = ptr.To(v1.ContainerRestartPolicyNever)
	once, err := Admit(profile.V1_34, pod)
	if err != nil || once.Namespace != "default" || once.Spec.Containers[0].RestartPolicy != nil {
		t.Errorf("admitted as %+v, %v", once, err)
	}
	if pod.Namespace != "" || pod.Spec.Containers[0].RestartPolicy == nil {
		t.Errorf("Admit changed its argument to %+v", pod)
	}
	if twice, err := Admit(profile.V1_34, once); err != nil || !reflect.DeepEqual(once, twice) {
		t.Errorf("a second Admit gives %+v, want %+v; error %v", twice, once, err)
	}
}

func TestAdmitListsAllErrors(t *testing.T) {
	pod := valid()
	pod.Name = "Web"
	pod.Spec.Containers[0].Image = ""
	pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: "X"}}
	_, err := Admit(profile.V1_37, pod)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"metadata.name: Invalid", "spec.containers[0].image: Required",
		"restartPolicyRules[0].action: Unsupported"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
