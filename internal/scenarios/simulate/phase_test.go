package simulate_test

import (
	"context"
	"testing"
	"time"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const anyPhase = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [a]}, periodSeconds: 10}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 3m
  pods: [{name: web, containers: [{name: app, delays: {createContainer: 31ms..10031ms}}]}]
  steps: [{at: 1m..1m10s, patch: {metadata: {labels: {a: b}}}}]
`

// TestAnyPhase checks that the ranges of docs/authoring.md draw each phase evenly: of the first run
// of a probe against the start of its container, and of a step against the runs of the probe.
func TestAnyPhase(t *testing.T) {
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(anyPhase), nil)
	if err != nil {
		t.Fatal(err)
	}
	const runs, period = 400, 10 * time.Second
	var first, step [10]int
	for seed := range int64(runs) {
		run := simulate.Run(context.Background(), loaded[0].Plan("v1.37", &seed), simulate.Options{})
		if run.Err != nil {
			t.Fatal(run.Err)
		}
		started, probed := find(t, run.Records, trace.ContainerStarted), find(t, run.Records, trace.ProbeExecuted)
		first[probed.Sub(started)%period*10/period]++
		step[(find(t, run.Records, trace.Step).Sub(probed)+10*period)%period*10/period]++
	}
	for i := range first {
		if min(first[i], step[i]) < 20 || max(first[i], step[i]) > 65 {
			t.Fatalf("the phases are %v and %v in tenths of the period, want 40 of %d runs in each", first, step, runs)
		}
	}
}

// find returns the time of the first record of a kind.
func find(t *testing.T, records []trace.Record, kind trace.Kind) virtual.Time {
	t.Helper()
	for i := range records {
		if records[i].Kind == kind {
			return records[i].T
		}
	}
	t.Fatalf("there is no %s", kind)
	return 0
}
