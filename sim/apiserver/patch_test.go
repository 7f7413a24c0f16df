package apiserver

import (
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAfterPatch(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3, Labels: map[string]string{"a": "b"}}}
	pod.Spec.Containers = []v1.Container{{Name: "app", Image: "app:1"}, {Name: "log", Image: "log:1"}}
	pod.Status.Phase = v1.PodRunning
	for _, test := range []struct {
		patch      string
		generation int64
		label      string
		image      string
	}{
		{`{}`, 3, "b", "app:1"},
		{`{"metadata": {"labels": {"a": "c"}}}`, 3, "c", "app:1"},
		{`{"metadata": {"labels": {"a": null}}}`, 3, "", "app:1"},
		{`{"spec": {"containers": [{"name": "app", "image": "app:2"}]}}`, 4, "b", "app:2"},
		{`{"spec": {"containers": [{"name": "app", "image": "app:1"}]}}`, 3, "b", "app:1"},
	} {
		after, err := AfterPatch(pod, []byte(test.patch))
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
	if pod.Generation != 3 || pod.Labels["a"] != "b" || pod.Spec.Containers[0].Image != "app:1" {
		t.Errorf("the pod itself has changed to %+v", pod)
	}
	if _, err := AfterPatch(pod, []byte(`{"spec": {"containers": [{"image": "app:2"}]}}`)); err == nil {
		t.Error("a patch that names no container is taken")
	}
}

// A client that has read conditions and wants others leaves alone what somebody else has written meanwhile.
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
		{"Ready=False gate=True", "Ready=False gate=False", "gate=False Ready=True", "Ready=True gate=True"},
		{"Ready=False", "Ready=False gate=False", "Ready=True gate=False", "Ready=True"},
		{"Ready=False old=True", "Ready=False old=True", "Ready=False", "Ready=False"},
		{"gate=True", "", "Ready=False", "gate=True Ready=False"},
	} {
		got := mergeConditions(parse(test.now), parse(test.read), parse(test.want))
		if !reflect.DeepEqual(got, parse(test.merged)) {
			t.Errorf("%q, read %q, wanted %q: got %v, want %q", test.now, test.read, test.want, got, test.merged)
		}
	}
}

func TestAfterStatusPatch(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3}}
	pod.Status.Conditions = []v1.PodCondition{{Type: "gate", Status: "False"}, {Type: "Ready", Status: "False"}}
	after, err := AfterStatusPatch(pod, []byte(`{"metadata": {"labels": {"a": "b"}}, "status": {"conditions": [{"type": "gate", "status": "True"}]}}`))
	if err != nil || findCondition(after.Status.Conditions, "gate").Status != "True" || findCondition(after.Status.Conditions, "Ready").Status != "False" {
		t.Errorf("got %+v, %v", after, err)
	}
	if after.Generation != 3 || after.Labels != nil || pod.Status.Conditions[0].Status != "False" {
		t.Errorf("more than the status of the copy has changed: %+v of %+v", after, pod)
	}
}
