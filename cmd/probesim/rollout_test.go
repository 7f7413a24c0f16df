package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// TestHostileRollout checks the answers about a manifest whose texts are hostile. The last probe
// that fails is a part of them.
func TestHostileRollout(t *testing.T) {
	s := &session{t, t.TempDir()}
	path := strconv.Quote("/" + strings.ToValidUTF8(strings.Join(payloads, " "), ""))
	file := s.write("rollout.yaml", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {a: `+path+`}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: example.com/web, readinessProbe: {httpGet: {path: `+path+`, port: 80}}}]
`)
	for _, format := range reportOutputs {
		out := s.run("rollout", file, "--runs", "1", "--app", "start never", "-o", format)
		switch {
		case !strings.Contains(out, "ever") || !strings.Contains(out, "forged"):
			t.Errorf("-o %s prints %q", format, out)
		case format == "json" && !json.Valid([]byte(out)):
			t.Errorf("not JSON: %.200s", out)
		}
	}
	for _, name := range fileNames() {
		s.run("rollout", s.write(name+".yaml",
			"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"))
	}
}
