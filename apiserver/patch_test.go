package apiserver

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/kube/profile"
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
		after, err := AfterPatch(profile.Newest(), pod, []byte(test.patch))
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
	if _, err := AfterPatch(profile.Newest(), pod, []byte(`{"spec": {"containers": [{"image": "app:2"}]}}`)); err == nil {
		t.Error("a patch that names no container is taken")
	}
}

// TestAfterPatchWithoutRestartRules: a patch cannot bring what the API server took out when it made the pod, and is
// no new generation then.
func TestAfterPatchWithoutRestartRules(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3}}
	pod.Spec.Containers = []v1.Container{{Name: "app", Image: "app:1"}}
	patch := []byte(`{"spec": {"containers": [{"name": "app", "restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}]}}`)
	for _, test := range []struct {
		kept       bool
		generation int64
	}{{false, 3}, {true, 4}} {
		p := profile.Newest()
		p.ContainerRestartRules = test.kept
		after, err := AfterPatch(p, pod, patch)
		if err != nil {
			t.Fatal(err)
		}
		app := after.Spec.Containers[0]
		if (app.RestartPolicy != nil) != test.kept || (app.RestartPolicyRules != nil) != test.kept || after.Generation != test.generation {
			t.Errorf("kept %v: %+v, generation %d", test.kept, app, after.Generation)
		}
	}
}
