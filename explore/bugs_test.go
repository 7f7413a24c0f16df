package explore_test

import (
	"context"
	"strings"
	"testing"

	"probesim.dev/explore"
	"probesim.dev/internal/long"
	"probesim.dev/scenarios"
)

// scenarioOf returns a scenario of one pod with one container. Its fields are YAML in braces.
func scenarioOf(probes, behavior, rest string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: 20, containers: [{name: app, image: "web:1", ` + probes + `}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: ingredients}
spec:
  duration: 90s
  pods: [{name: web, containers: [{name: app, behavior: [` + behavior + `]}]}]
` + rest
}

// sidecarScenario has a sidecar with a liveness probe in a pod that is deleted.
const sidecarScenario = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: proxy, image: "proxy:1", restartPolicy: Always, livenessProbe: {exec: {command: [live]}}}]
  containers: [{name: app, image: "web:1"}]
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: ingredients}
spec:
  duration: 1m
  pods: [{name: web, containers: [{name: app, behavior: [{afterSigterm: 5s, exit: 0}]}]}]
  steps: [{at: 21s, delete: {}}]
`

// slowSync has a container whose readiness probe fails, and one that crashes and pulls its image
// for twenty seconds when its back-off ends.
const slowSync = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: "web:1", readinessProbe: {exec: {command: [ready]}, periodSeconds: 5, failureThreshold: 1}}
  - {name: side, image: "side:1", imagePullPolicy: Always}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: ingredients}
spec:
  duration: 80s
  delays: {imagePull: 20s}
  pods:
  - name: web
    containers:
    - {name: app, behavior: [{after: 50s, readiness: fail}]}
    - {name: side, behavior: [{instance: 0, after: 3s, exit: 1}, {instance: 1, after: 3s, exit: 1}]}
`

// slowStop has a container that starts slowly, and one that hangs later and takes a long time to
// stop.
const slowStop = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: "web:1", startupProbe: {exec: {command: [up]}, periodSeconds: 1, failureThreshold: 60}}
  - {name: side, image: "side:1", livenessProbe: {exec: {command: [live]}, failureThreshold: 1}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: ingredients}
spec:
  duration: 1m
  pods:
  - name: web
    containers:
    - {name: app, behavior: [{for: 12s, startup: fail}]}
    - {name: side, behavior: [{instance: 0, after: 15s, liveness: fail}, {afterSigterm: 20s, exit: 0}]}
`

// failedPod has a sidecar whose readiness probe fails, in a pod that an init container makes fail.
const failedPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Never
  initContainers:
  - {name: proxy, image: "proxy:1", restartPolicy: Always, readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}}
  - {name: migrate, image: "web:1"}
  containers: [{name: app, image: "web:1"}]
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: ingredients}
spec:
  duration: 30s
  pods:
  - name: web
    containers:
    - {name: proxy, behavior: [{readiness: fail}, {afterSigterm: 8s, exit: 0}]}
    - {name: migrate, behavior: [{after: 5s, exit: 1}]}
`

// bugs are the known bugs of the kubelet that break an invariant, each with a scenario that has its
// ingredients. Unless a bug shows in every such run, the scenario as written does not show it: a
// policy must find the order, the phase or the moment.
var bugs = []struct {
	name     string
	scenario string
	always   bool // the run as written shows the bug
	policy   string
	runs     int // in which the bug is found, with the canonical run
	finding  string
}{
	{
		"B22: failures count over a crash",
		scenarioOf(`livenessProbe: {exec: {command: [live]}}`,
			"{instance: 0, after: 15s, liveness: fail}, {instance: 0, after: 21s, exit: 1}, {instance: 1, for: 15s, "+
				"liveness: fail}", ""),
		false, "moves", 130, "kill-needs-failures: the instance before had failures of the liveness probe, and they " +
			"count (default/web/app), known as B22",
	},
	{
		"B18: started like the instance before",
		scenarioOf(`startupProbe: {exec: {command: [up]}, periodSeconds: 5, failureThreshold: 12}, livenessProbe: `+
			`{exec: {command: [live]}, periodSeconds: 1, failureThreshold: 1}`,
			`{for: 12s, probes: fail}, {instance: 0, after: 30s, liveness: fail}`, ""),
		true, "canonical", 1, "started-needs-success: the instance before had started (default/web/app), known as " +
			"B18 #141155",
	},
	{
		"B8: a probe before initialDelaySeconds",
		scenarioOf(`livenessProbe: {exec: {command: [live]}, initialDelaySeconds: 5, periodSeconds: 1}`, "",
			"  kubelet: {uptime: 150s}\n"),
		true, "canonical", 1, "no-probe-before-initial-delay: the liveness probe, by less than a second " +
			"(default/web/app), known as B8",
	},
	{
		"B19: started since a restart of the kubelet",
		scenarioOf(`startupProbe: {exec: {command: [up]}, failureThreshold: 30}`, `{startup: fail}`, ""),
		false, "restarts", 40, "started-needs-success: since a restart of the kubelet (default/web/app), known as " +
			"B19 #142305",
	},
	{
		"B36: the liveness probe of a sidecar in a pod that ends",
		sidecarScenario, false, "moves", 12,
		"no-probe-while-terminating: the liveness probe of a sidecar (default/web/proxy), known as B36 #141766",
	},
	{
		"B6: a readiness probe that a sync requests is lost",
		scenarioOf(`readinessProbe: {exec: {command: [ready]}, periodSeconds: 20}`, "",
			"  expect: [{name: ready at once, first: 0s..2s, becomes: {ready: true}}]\n"),
		false, "orders", 160, "expectation failed: ready at once",
	},
	{
		"B54: a sync overwrites a result of the readiness probe",
		slowSync, false, "meetings", 1000,
		"settled-status-agrees: the readiness probe fails, and the container is ready, since a sync that began at " +
			"the instant of the result (default/web/app), known as B54 #139244",
	},
	{
		"#135248: ready while killed for its startup probe, since a restart of the kubelet",
		scenarioOf(`startupProbe: {exec: {command: [up]}, failureThreshold: 2}`,
			`{startup: fail}, {afterSigterm: 15s, exit: 0}`, ""),
		false, "restarts", 300, "no-ready-while-stopping: stopping because of StartupProbe (default/web/app), known " +
			"as B19 #142305",
	},
	{
		"ready while killed for its liveness probe",
		scenarioOf(`livenessProbe: {exec: {command: [live]}, failureThreshold: 1}, readinessProbe: {exec: {command: `+
			`[ready]}, periodSeconds: 2, failureThreshold: 1}`,
			`{after: 31s, liveness: fail}, {after: 24s, for: 5s, readiness: fail}, {afterSigterm: 15s, exit: 0}`, ""),
		false, "moves", 180, "no-ready-while-stopping: stopping because of LivenessProbe (default/web/app), known as " +
			"C16 #131690",
	},
	{
		"ready while its pod ends",
		scenarioOf(`readinessProbe: {exec: {command: [ready]}, periodSeconds: 2, failureThreshold: 1}`,
			`{after: 24s, for: 5s, readiness: fail}, {afterSigterm: 15s, exit: 0}`,
			"  steps: [{at: 32s, delete: {}}]\n"),
		false, "moves", 180, "no-ready-while-stopping: stopping because of Deleted (default/web/app), known as C17 " +
			"#129552",
	},
	{
		"ready and not started, since a restart of the kubelet",
		scenarioOf(`startupProbe: {exec: {command: [up]}, periodSeconds: 1}`, "", ""),
		false, "restarts", 60, "ready-needs-started: it had started before a restart of the kubelet " +
			"(default/web/app), known as explored/ready-and-not-started-after-a-restart",
	},
	{
		"started after the deadline of the pod",
		strings.Replace(scenarioOf(`startupProbe: {exec: {command: [up]}, periodSeconds: 1, failureThreshold: 60}`,
			`{startup: fail}, {afterSigterm: 5s, exit: 0}`, ""),
			"{terminationGrace", "{activeDeadlineSeconds: 15, terminationGrace", 1),
		true, "canonical", 1, "started-needs-success: the pod has exceeded its deadline (default/web/app), known as " +
			"explored/started-after-its-deadline",
	},
	{
		"ready before a new kubelet has probed it",
		scenarioOf(`readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}`,
			`{readiness: fail}, {afterSigterm: 15s, exit: 0}`, "  steps: [{at: 6s, delete: {}}]\n"),
		false, "restarts", 120, "no-ready-while-stopping: stopping because of Deleted, before a new kubelet has " +
			"probed it (default/web/app), known as explored/ready-before-a-new-kubelet-probes",
	},
	{
		"ready while a failed pod stops",
		failedPod, true, "canonical", 1,
		"no-ready-while-stopping: stopping because of Stopped, after its pod has failed (default/web/proxy), known " +
			"as explored/ready-while-a-failed-pod-stops",
	},
	{
		"B70: started because the first stop of the pod failed",
		scenarioOf(`startupProbe: {exec: {command: [up]}, periodSeconds: 5, failureThreshold: 30}`,
			`{startup: fail}, {afterSigterm: 15s, exit: 0}`, "  steps: [{at: 30s, delete: {}}]\n"),
		false, "outages", 1000, "started-needs-success: a stop of the pod has failed (default/web/app), known as B70 " +
			"#135248",
	},
	{
		"ready waits for the stop of another container",
		slowStop,
		false, "moves", 200, "settled-status-agrees: the container has started and has no readiness probe, and is " +
			"not ready, while a sync of the pod waits for another container (default/web/app), known as " +
			"explored/ready-waits-for-a-stop",
	},
	{
		"a stopped worker takes a tick that is due",
		scenarioOf(`livenessProbe: {exec: {command: [live]}, periodSeconds: 1, timeoutSeconds: 5}`,
			`{liveness: ok in 3s}, {afterSigterm: 20s, exit: 0}`, "  steps: [{at: 8s, delete: {}}]\n"),
		true, "canonical", 1, "no-probe-while-terminating: the liveness probe, after one that the stop did not wait " +
			"for (default/web/app), known as explored/stopped-worker-takes-a-tick",
	},
	{
		"a stopped worker of a young kubelet probes once",
		scenarioOf(`livenessProbe: {exec: {command: [live]}}`, `{afterSigterm: 15s, exit: 0}`,
			"  steps: [{at: 21s, delete: {}}]\n"),
		false, "restarts", 160, "no-probe-while-terminating: the liveness probe, for the first time on a young " +
			"kubelet (default/web/app), known as explored/stopped-worker-probes-once",
	},
}

// Each known bug is found from its ingredients in a bounded number of runs, and shrinks to a file
// of less than 40 lines that still shows it, with an expectation that holds. By default, the test
// shrinks every third.
func TestBugsAreFoundAndShrunk(t *testing.T) {
	for i, test := range bugs {
		t.Run(test.name, func(t *testing.T) {
			s := subject(t, test.scenario)
			written := s.Run(explore.Change{}, false)
			if got := strings.Contains(strings.Join(written.History.Findings(), "\n"), test.finding); got !=
				test.always {
				t.Errorf("the run as written shows %q", written.History.Findings())
			}
			r := exploreSubject(t, s, explore.Options{Runs: test.runs, Policies: []string{"canonical", test.policy}})
			var change *explore.Change
			for _, f := range r.Findings() {
				if f.Text == test.finding {
					change = &f.Outcomes[0].Change
				}
			}
			if change == nil {
				t.Fatalf("not found in %d runs; the findings are %v", r.Runs, texts(r.Findings()))
			}
			if i%long.Sample(3, 1) != 0 {
				return
			}
			small, err := s.Shrink(context.Background(), *change, []byte(test.scenario),
				explore.ShrinkOptions{Finding: strings.TrimPrefix(test.finding, "expectation failed: ")})
			if err != nil {
				t.Fatal(err)
			}
			checkShrunk(t, small, test.finding)
		})
	}
}

func checkShrunk(t *testing.T, small *explore.Shrunk, finding string) {
	t.Helper()
	if lines := strings.Count(string(small.File), "\n"); lines >= 40 || !small.Minimal {
		t.Errorf("%d lines, minimal: %t\n%s", lines, small.Minimal, small.File)
	}
	all, err := scenarios.LoadBytes("small.yaml", small.File, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, small.File)
	}
	shrunk := explore.Subject{Plan: all[0].Plans()[0]}
	run := shrunk.Run(small.Change, false)
	shown, _, _ := strings.Cut(finding, " (")
	if !strings.Contains(strings.Join(run.History.Findings(), "\n"), shown) {
		t.Errorf("the small file shows %q\n%s", run.History.Findings(), small.File)
	}
	if failed := len(run.History.Failed); strings.HasPrefix(finding, "expectation") != (failed == 1) || failed > 1 ||
		len(run.Results) != 1 {
		t.Errorf("%d expectations, %d of which fail\n%s", len(run.Results), failed, small.File)
	}
}

func texts(findings []*explore.Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Text)
	}
	return list
}
