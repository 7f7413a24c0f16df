package simulate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
)

const sleepingHook = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", lifecycle: {preStop: {exec: {command: COMMAND}}}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 5m
  pods: [{name: web, containers: [{name: app, behavior: RULES}]}]
  steps: [{at: 1m, delete: {pod: web}}]
  expect: [{since: {record: {kind: PodDeleteRequested}}, first: WINDOW, record: {kind: ContainerExited}}]
`

// TestSleepingHook checks how long the preStop hook delays the end of a container, and the note
// about commands whose time is unknown.
func TestSleepingHook(t *testing.T) {
	for _, test := range []struct{ command, rules, window, note string }{
		{"[sleep, '10']", "[]", "10.1s..10.3s", ""},
		{"[/bin/sh, -c, sleep 10 && true]", "[]", "10.1s..10.3s", ""},
		{"[sleep, '10']", "[{preStop: 0 in 2s}]", "2.1s..2.3s", ""},
		{"[sleep, '10']", "[{preStop: 3}]", "10.1s..10.3s", ""},
		{"[sleep, '10']", "[{preStop: error}]", "100ms..300ms", ""},
		{"[sh, -c, sleep 10; drain]", "[]", "10.1s..10.3s",
			"the preStop hook of app runs a command for an unknown time; probesim assumes 10s, the time for which it " +
				"sleeps. Set it with a rule such as {preStop: 0 in 5s}"},
		{"[drain]", "[]", "100ms..300ms", "the preStop hook of app runs a command for an unknown time; probesim " +
			"assumes no time. Set it with a rule such as {preStop: 0 in 5s}"},
		{"[drain]", "[{preStop: 0 in 5s}]", "5.1s..5.3s", ""},
	} {
		t.Run(fmt.Sprintf("%s with %s", test.command, test.rules), func(t *testing.T) {
			text := strings.NewReplacer("COMMAND", test.command, "RULES", test.rules, "WINDOW", test.window).
				Replace(sleepingHook)
			loaded, err := scenarios.LoadBytes("s.yaml", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			plan := loaded[0].Plans()[0]
			run := simulate.Run(context.Background(), plan, simulate.Options{})
			if run.Err != nil || run.Results[0].Outcome != report.OK {
				t.Errorf("%v, %+v", run.Err, run.Results[0].Failures)
			}
			if got := strings.Join(plan.Notes(), "\n"); got != test.note {
				t.Errorf("the notes are %q, want %q", got, test.note)
			}
		})
	}
}
