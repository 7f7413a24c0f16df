package witness_test

import (
	"strings"
	"testing"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/witness"
)

const manifest = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web:1
    startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 4}
    livenessProbe: {grpc: {port: 80}, periodSeconds: 2, failureThreshold: 2}
    readinessProbe: {exec: {command: [ready]}, periodSeconds: 1, failureThreshold: 2}
`

// TestFind checks that a run is found for each row, on the right side of its end, with scenarios
// that show it. Find runs them.
func TestFind(t *testing.T) {
	c, err := check.New([]check.File{{Name: "web.yaml", Data: []byte(manifest)}}, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(c.Targets(), " "); names != "app/start app/restart app/retry app/stall app/silence "+
		"app/serving app/serving-silence app/ready app/unready app/hung-unready app/detect" {
		t.Fatalf("the rows are %s", names)
	}
	for _, name := range c.Targets() {
		target, err := c.Target(name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := witness.Find(t.Context(), target)
		if err != nil {
			t.Error(err)
			continue
		}
		files := map[bool]int{true: 2, false: 1}[target.Row.IsLimit()]
		if len(w.Files) > files || len(w.Files) == 0 ||
			!strings.HasPrefix(w.Files[0].Name, "web-app-"+string(target.Row)) {
			t.Errorf("%s has the files %+v", name, w.Files)
		}
		if limit := target.Row.IsLimit(); limit && w.Value < w.End || !limit && w.Value > w.End || len(w.Records) == 0 {
			t.Errorf("%s: a run shows %v, and the end is %v; %d records", name, w.Value, w.End, len(w.Records))
		}
	}
}
