package reconstruct

import (
	"strings"
	"testing"
)

// TestShutdown reconstructs a graceful shutdown of the node, for which the kubelet needs a configuration.
func TestShutdown(t *testing.T) {
	for grace, behavior := range map[string]string{"30s": "{afterSigterm: 3s, exit: 1}", "12s": "{afterSigterm: 0s, exit: never}"} {
		r := reconstructed(t, simulatedText(t, `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", readinessProbe: {httpGet: {port: 80}}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 2m
  kubelet: {config: {shutdownGracePeriod: `+grace+`}}
  pods: [{name: web, containers: [{name: app, behavior: [`+behavior+`]}]}]
  steps: [{at: 40s, shutdownNode: {}}]
`, 0))
		if !strings.Contains(string(r.Text), "shutdownNode: {}") {
			t.Errorf("the scenario does not shut down the node:\n%s", r.Text)
		}
	}
}
