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
		"a kubelet that has just started probes a container that it stops": `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "app:1", livenessProbe: {grpc: {port: 5000}, initialDelaySeconds: 13, periodSeconds: 30}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 1m
  kubelet: {uptime: 4.2s}
  pods: [{name: web, containers: [{name: app, behavior: [{after: 14s, liveness: down}, {afterSigterm: 6.1s, exit: 1}]}]}]
  steps: [{at: 10s, delete: {pod: web}}]
`,
	} {
		t.Run(name, func(t *testing.T) { reconstructed(t, simulatedText(t, text, 0)) })
	}
}
