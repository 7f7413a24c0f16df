package tune_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
)

// Edit changes and inserts fields in each style of YAML, and keeps every other byte.
func TestEdit(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
	for _, test := range []struct{ name, text, require, want string }{
		{"a block",
			"  - name: app   # the app\n    image: web:1\n    livenessProbe: # patient\n      grpc: {port: 80}\n     " +
				" periodSeconds: 2   # short\n      failureThreshold: 2\n",
			"stall>=4s",
			"  - name: app   # the app\n    image: web:1\n    livenessProbe: # patient\n      grpc: {port: 80}\n     " +
				" periodSeconds: 2   # short\n      failureThreshold: 3\n"},
		{"a block without the field",
			"  - name: app\n    image: web:1\n    livenessProbe:\n      grpc: {port: 80}\n      periodSeconds: 1\n",
			"stall>=4s",
			"  - name: app\n    image: web:1\n    livenessProbe:\n      failureThreshold: 5\n      grpc: {port: " +
				"80}\n      periodSeconds: 1\n"},
		{"a flow mapping without the field",
			"  - {name: app, image: 'web:1', livenessProbe: {grpc: {port: 80}, periodSeconds: 1}}\n",
			"stall>=4s",
			"  - {name: app, image: 'web:1', livenessProbe: {failureThreshold: 5, grpc: {port: 80}, periodSeconds: " +
				"1}}\n"},
		{"lines that end in CR LF",
			"  - name: app\r\n    image: web:1\r\n    livenessProbe:\r\n      grpc: {port: 80}\r\n      " +
				"periodSeconds: 1\r\n",
			"stall>=4s",
			"  - name: app\r\n    image: web:1\r\n    livenessProbe:\r\n      failureThreshold: 5\r\n      grpc: " +
				"{port: 80}\r\n      periodSeconds: 1\r\n"},
		{"a new startup probe",
			"  - name: app\n    livenessProbe:\n      httpGet: {path: /live, port: 80}\n      periodSeconds: 1\n     " +
				" failureThreshold: 2\n    image: web:1 # last\n",
			"start>=5s, detect<=4.5s",
			"  - name: app\n    startupProbe:\n      failureThreshold: 4\n      httpGet:\n        path: /live\n      " +
				"  port: 80\n      periodSeconds: 2\n    livenessProbe:\n      httpGet: {path: /live, port: 80}\n    " +
				"  periodSeconds: 1\n      failureThreshold: 2\n    image: web:1 # last\n"},
		{"a new startup probe next to a liveness probe that comes first",
			"  - livenessProbe:\n      httpGet: {path: /live, port: 80}\n      periodSeconds: 1\n      " +
				"failureThreshold: 2\n    name: app\n    image: web:1\n",
			"start>=5s, detect<=4.5s",
			"  - livenessProbe:\n      httpGet: {path: /live, port: 80}\n      periodSeconds: 1\n      " +
				"failureThreshold: 2\n    startupProbe:\n      failureThreshold: 4\n      httpGet:\n        path: " +
				"/live\n        port: 80\n      periodSeconds: 2\n    name: app\n    image: web:1\n"},
		{"JSON",
			"    [{\"name\": \"app\", \"image\": \"web:1\", \"livenessProbe\": {\"httpGet\": {\"path\": \"/live\", " +
				"\"port\": 80}, \"periodSeconds\": 1, \"failureThreshold\": 2}}]\n",
			"start>=5s, detect<=4.5s",
			"    [{\"startupProbe\": " +
				"{\"failureThreshold\":4,\"httpGet\":{\"path\":\"/live\",\"port\":80},\"periodSeconds\":2}, " +
				"\"name\": \"app\", \"image\": \"web:1\", \"livenessProbe\": {\"httpGet\": {\"path\": \"/live\", " +
				"\"port\": 80}, \"periodSeconds\": 1, \"failureThreshold\": 2}}]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, r := edited(t, head+test.text, test.require)
			got, _, err := r.Edit(f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Edit names the comments beside changed numbers, on their lines in the changed file.
func TestEditNamesComments(t *testing.T) {
	f, r := edited(t, `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web:1
    livenessProbe:
      grpc: {port: 80}
      periodSeconds: 1
  - name: other
    image: web:1
    livenessProbe:
      grpc: {port: 80}
      periodSeconds: 1 # often
      failureThreshold: 3 # three seconds
  - name: third
    image: web:1
    livenessProbe: {grpc: {port: 80}, periodSeconds: 1, failureThreshold: 3, terminationGracePeriodSeconds: 5} # short
`, "stall>=4s")
	text, comments, err := r.Edit(f)
	if err != nil {
		t.Fatal(err)
	}
	if want := []inplace.Comment{{Line: 17, Text: "# three seconds"},
		{Line: 20, Text: "# short"}}; !slices.Equal(comments, want) {
		t.Errorf("%s\nthe comments are %v, want %v", text, comments, want)
	}
}

func edited(t *testing.T, text, require string) (input.File, *tune.Report) {
	t.Helper()
	q, err := parseRequirements(require)
	if err != nil {
		t.Fatal(err)
	}
	f := input.File{Name: "web.yaml", Data: []byte(text)}
	r := tuned(t, f, check.Options{Require: q})
	if !r.Met() || !r.Changed() {
		t.Fatalf("%+v", r.Workloads)
	}
	return f, r
}

// A probe that two containers share through an anchor cannot be changed for one of them.
func TestEditRejectsAnchors(t *testing.T) {
	f, r := edited(t, `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web:1
    livenessProbe: &probe {grpc: {port: 80}, periodSeconds: 1, failureThreshold: 2}
    readinessProbe: *probe
`, "stall>=4s")
	if text, _, err := r.Edit(f); err == nil || !strings.Contains(err.Error(), "YAML anchors: use -o patch") {
		t.Errorf("error %v, text %s", err, text)
	}
}

// A patch changes the pod as the report says.
func TestPatch(t *testing.T) {
	f, r := edited(t, `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: other
    image: web:1
  - name: app
    image: web:1
    livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 1, failureThreshold: 2}
`, "app/start>=5s, app/detect<=4.5s")
	patches, err := r.Patches()
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBuffer(bytes.Join(patches, []byte("---\n")))
	text, _, err := r.Edit(f)
	if err != nil {
		t.Fatal(err)
	}
	original, err := yaml.YAMLToJSON(f.Data)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, v1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var got, want v1.Pod
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", b.String(), diff)
	}
}
