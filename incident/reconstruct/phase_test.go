package reconstruct

import "testing"

// TestPhases reconstructs probes whose runs are at other times than those of a pod that starts at once on a kubelet that has run for long.
func TestPhases(t *testing.T) {
	for name, text := range map[string]string{
		"a kubelet that has just started": `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: proxy, image: "proxy:1", restartPolicy: Always, startupProbe: {exec: {command: [up]}, periodSeconds: 16}}
  containers: [{name: app, image: "app:1"}]
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 2m
  kubelet: {uptime: 2.78s}
  pods: [{name: web, at: 3s, containers: [{name: proxy, behavior: [{for: 17s, startup: 1}]}]}]
`,
		"a readiness probe that runs at once after the startup probe": `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: app:1
    imagePullPolicy: Always
    startupProbe: {exec: {command: [up]}, periodSeconds: 5}
    livenessProbe: {httpGet: {port: 80}, initialDelaySeconds: 5}
    readinessProbe: {exec: {command: [up]}, failureThreshold: 5, successThreshold: 2}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 4m
  delays: {imagePull: 15.3s}
  pods: [{name: web, containers: [{name: app, behavior: [{for: 36s, probes: [ok, fail x3, repeat]}]}]}]
`,
	} {
		t.Run(name, func(t *testing.T) { reconstructed(t, simulatedText(t, text, 0)) })
	}
}
