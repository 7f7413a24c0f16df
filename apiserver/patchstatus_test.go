package apiserver

import (
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
