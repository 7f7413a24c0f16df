package shrink_test

import (
	"strings"
	"testing"

	"probesim.dev/internal/answers/shrink"
)

const edited = `# a comment
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1"}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: other}
spec: {pods: [{name: web}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  duration: 1m
  pods: [&pod {name: web}]
`

func TestEdit(t *testing.T) {
	got, err := shrink.Edit([]byte(edited), "one", []shrink.Field{
		{"spec.duration", "2m"}, {"spec.kubelet.uptime", "3s"}, {"spec.pods[0].at", "1s"},
		{"spec.steps[+]", "{at: 5s, delete: {}}"}, {"spec.steps[+]", "{at: 6s, restartKubelet: {}}"},
	})
	want := `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: web:1}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  duration: 2m
  pods:
  - {name: web, at: 1s}
  kubelet: {uptime: 3s}
  steps:
  - {at: 5s, delete: {}}
  - {at: 6s, restartKubelet: {}}
`
	if err != nil || string(got) != want {
		t.Errorf("error %v, got\n%s", err, got)
	}
	for _, test := range []struct{ scenario, path, want string }{
		{"two", "spec.duration", `no Scenario document named "two"`},
		{"one", "spec.pods[1].at", "pods has no item 1"},
		{"one", "spec.duration.at", "at is no field of a mapping"},
	} {
		if _, err := shrink.Edit([]byte(edited), test.scenario, []shrink.Field{{test.path, "1s"}}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %s: the error is %v, want %q", test.path, test.scenario, err, test.want)
		}
	}
}
