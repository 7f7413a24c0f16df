package simulate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// crowd is a scenario with 100 pods that start together. Their probes fail with a message of 10
// KiB.
const crowd = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 100
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: example.com/web:1, readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: crowd}
spec:
  duration: 10m
  pods:
  - name: web
    stagger: 0s
    containers:
    - name: app
      answers: [{name: long, code: 1, body: "BODY"}]
      behavior: [{readiness: long}]
`

func crowded(t *testing.T) *scenarios.Plan {
	t.Helper()
	all, err := scenarios.LoadBytes("crowd.yaml",
		[]byte(strings.ReplaceAll(crowd, "BODY", strings.Repeat("x", 10_000))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Plan("v1.37", nil)
}

// TestMaxMemory checks that a run ends when its records exceed the limit, within the instant, and
// reports the time and the kind of most records.
func TestMaxMemory(t *testing.T) {
	plan := crowded(t)
	for memory, want := range map[int64]string{
		100_000: "stopped at 0.000s: the trace takes more than 0.1 MB of memory, and the largest part is 65 records " +
			"of kind PodAdded (0.1 MB); use fewer pods, ",
		3_800_000: "stopped at 22.746s: the trace takes more than 3.8 MB of memory, and the largest part is 2670 " +
			"records of kind Event (1.3 MB)",
	} {
		r := Run(context.Background(), plan, Options{MaxMemory: memory})
		var full *node.MemoryError
		if !errors.As(r.Err, &full) || !strings.Contains(r.Err.Error(), want) || full.Now != r.End {
			t.Errorf("with %d bytes: stopped at %v with %v, want %q", memory, r.End, r.Err, want)
		}
		if most := int(memory / 300); len(r.Records) > most {
			t.Errorf("with %d bytes: %d records, want at most %d", memory, len(r.Records), most)
		}
	}
	if r := Run(context.Background(), plan,
		Options{MaxMemory: 1_000_000_000, Until: virtual.At(10 * time.Second)}); r.Err != nil {
		t.Errorf("with enough memory: %v", r.Err)
	}
}

// TestInterrupt checks that a run of many pods notices the end of its context within an instant.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	after := 0
	r := Run(ctx, crowded(t), Options{Sink: func(rec *trace.Record) {
		if rec.Kind == trace.ContainerStarted {
			cancel()
		}
		if ctx.Err() != nil {
			after++
		}
	}})
	if r.Err != ErrInterrupted || after > 1100 {
		t.Errorf("stopped at %v with %v, after %d more records", r.End, r.Err, after)
	}
}
