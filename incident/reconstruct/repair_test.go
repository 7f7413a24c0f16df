package reconstruct

import (
	"strings"
	"testing"
)

// TestRepair checks reconstructions that no simple behavior explains: what single instances do differs, or only the time of another fact
// tells it.
func TestRepair(t *testing.T) {
	for _, test := range []struct{ name, spec, scenario, want string }{
		{"the exit code of one of the instances is recorded", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: init, behavior: [{instance: ..1, after: 1.486s, exit: 137}]}]}]`, "exit: 137"},
		{"the kubelet dropped the warnings of the last instances", `containers: [{name: app, image: "app:1", readinessProbe: {grpc: {port: 5000}, periodSeconds: 6, failureThreshold: 100}, livenessProbe: {exec: {command: [up]}, periodSeconds: 4, failureThreshold: 100}}]`,
			`duration: 3m, pods: [{name: web, containers: [{name: app, behavior: [{instance: ..1, liveness: hang, readiness: UNKNOWN}, {instance: 2, readiness: down}, {instance: 3.., readiness: fail}, {after: 10s, exit: 0}]}]}]`,
			"liveness: hang"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {" + test.spec + "}\n---\n" +
				"apiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {" + test.scenario + "}\n"
			r := reconstructed(t, simulatedText(t, text, 0))
			if !strings.Contains(string(r.Text), test.want) {
				t.Errorf("there is no %q in\n%s", test.want, r.Text)
			}
		})
	}
}
