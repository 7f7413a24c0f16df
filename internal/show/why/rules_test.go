package why_test

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// scenario is a Pod with a container and a second one, and what happens to them.
const scenario = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: w, PROBES}
  - {name: other, image: w}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 5m
  kubernetesVersions: [v1.34, v1.37]
  steps: [{at: 112s, restartKubelet: {downtime: 1s}}]
  pods:
  - name: web
    containers:
    - {name: app, behavior: [APP]}
    - {name: other, behavior: [OTHER]}
`

const (
	live     = "livenessProbe: {exec: {command: [live]}}"
	hangs    = "livenessProbe: {httpGet: {port: 8080}, timeoutSeconds: 100}"
	ready    = "readinessProbe: {exec: {command: [ready]}, periodSeconds: 20}"
	slowExec = "livenessProbe: {exec: {command: [live]}, timeoutSeconds: 40}"
)

// TestWhereItMatters checks that explanations name the rule of the scenario, a probe that waits for
// its answer, a readiness period that began anew, and a restart of the kubelet, and name them only
// where they matter.
func TestWhereItMatters(t *testing.T) {
	for _, test := range []struct{ probes, app, other, ask, want, not string }{
		{live, "{at: 60s, liveness: fail}", "", "restart app 1", "; because s.yaml:20 says {at: 60s, liveness: fail}",
			"kubelet restarted"},
		{live, "{at: 60s, liveness: fail}, {at: 75s, liveness: 7}", "", "restart app 1",
			"says {at: 60s, liveness: fail}, and s.yaml:20 says {at: 75s, liveness: 7}", ""},
		{live, "{exit: 3, at: 60s}", "", "restart app 1",
			"59.699s after it started; because s.yaml:20 says {exit: 3, at: 60s}", ""},
		{live, "{at: 60s, liveness: fail}, {afterSigterm: 2s, exit: 0}", "", "restart app 1",
			"2s into its 30s grace period (s.yaml:20 says {afterSigterm: 2s, exit: 0})", ""},
		{live, "{at: 4m, exit: 1}, {at: 60s, liveness: fail}, {afterSigterm: 0s, exit: never}", "", "restart app 1",
			"grace period ended (s.yaml:20 says {afterSigterm: 0s, exit: never})", "4m, exit"},
		{ready, "{for: 30s, readiness: fail}", "", "ready", "; because s.yaml:20 says {for: 30s, readiness: fail}",
			"began anew"},

		{hangs, "{at: 25s, liveness: hang}", "", "at 60s",
			"; its liveness probe has waited for an answer since 30.000s (timeoutSeconds 100; s.yaml:20 says {at: " +
				"25s, liveness: hang})", ""},
		{hangs, "{at: 25s, liveness: hang}", "", "at 30.5s", "", "waited"},
		{hangs, "{at: 25s, liveness: hang}", "", "at 115s", "", "waited"}, // the kubelet has restarted
		{hangs, "{at: 25s, liveness: ok in 3s}", "", "at 34s", "", "waited"},
		{slowExec, "{at: 25s, liveness: [error x2, hang]}", "", "at 70s", "error since 30.060s (two times in a row)",
			"since 40"},
		{slowExec, "{at: 25s, liveness: error}", "", "at 90s",
			"in a row), which the kubelet ignores: \"rpc error: code = Unknown desc = failed to exec in container: " +
				"failed to start exec: OCI runtime exec failed\" (s.yaml:20 says {at: 25s, liveness: error})", ""},

		{ready, "{for: 20s, readiness: fail}", "{instance: 0, after: 9s, exit: 3}", "ready",
			"; its period of 20s began anew at 9.6", ""},
		{ready, "{for: 20s, readiness: fail}", "{instance: 0, after: 9s, exit: 3}", "ready",
			"s, when the kubelet synced the pod after the start of other", ""},
		{ready, "{readiness: fail}", "{instance: 0, after: 9s, exit: 3}", "at 30s",
			"failures in a row, failureThreshold 3; its period of 20s began anew at 9.633s", ""},
		{ready, "{readiness: fail}", "{instance: 0, after: 9s, exit: 3}", "at 50s",
			"failures in a row, failureThreshold 3; s.yaml", ""},

		{live, "{at: 95s, for: 1m, liveness: fail}", "", "restart app 1",
			", after its last success at 90.020s; the kubelet restarted at 113.000s and counted from zero", ""},
		{live, "{at: 95s, for: 1m, liveness: fail}", "", "at 125s",
			"its liveness probe failed at 118.120s (failureThreshold 3, last success at 90.020s; the kubelet " +
				"restarted at 113.000s and counts from zero; s.yaml:20", "in a row"},
		{live, "{at: 85s, for: 1m, liveness: fail}, {afterSigterm: 0s, exit: never}", "", "at 113.5s",
			"the kubelet restarted at 113.000s and counts from zero", "told it to stop at 110.020s after its"},
		{live, "{at: 114s, for: 1m, liveness: fail}", "", "restart app 1", "says", "the kubelet restarted"},
		{live, "", "{after: 70s, exit: 1}", "restart other 2",
			", without a back-off: the kubelet restarted at 113.000s, and it keeps its back-offs in memory", ""},
		{live, "", "{after: 40s, exit: 1}", "restart other 2", "", "in memory"},
		{live, "", "{after: 40s, exit: 1}", "restart other 4", "the 10s back-off after its exit", "in memory"},
	} {
		t.Run(test.app+test.other+" "+test.ask, func(t *testing.T) {
			got := explained(t, test.probes, test.app, test.other, test.ask)
			if !strings.Contains(got, test.want) {
				t.Errorf("lacks %q:\n%s", test.want, got)
			}
			if test.not != "" && strings.Contains(got, test.not) {
				t.Errorf("has %q:\n%s", test.not, got)
			}
		})
	}
}

// explained returns an explanation on one line.
func explained(t *testing.T, probes, app, other, ask string) string {
	t.Helper()
	text := strings.NewReplacer("PROBES", probes, "APP", app, "OTHER", other).Replace(scenario)
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	run, _ := simulated(t, loaded[0].Plan("v1.37", nil))
	var lines []string
	switch words := strings.Fields(ask); words[0] {
	case "restart":
		e, ok := run.Restart("default/web", words[1], int(words[2][0]-'0'))
		if !ok {
			t.Fatalf("there is no %s", ask)
		}
		for _, l := range e.Chain {
			lines = append(lines, l.Text)
		}
	case "ready":
		for _, l := range run.Ready("default/web", virtual.At(time.Hour))[0].Chain {
			lines = append(lines, l.Text)
		}
	case "at":
		at, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		lines = run.At("default/web", "", virtual.At(at)).State
	}
	return strings.Join(lines, "; because ")
}
