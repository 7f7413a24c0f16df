package expect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// day is the trace of 24 hours of a pod with a probe every 288 ms, 300,000 runs in all. Readiness
// changes with every 1000th run.
func day() []trace.Record {
	var rec trace.Recorder
	rec.Add(trace.Record{Kind: trace.PodAdded, Pod: "default/web"})
	ready := false
	for i := range 300_000 {
		t := time.Duration(i) * 288 * time.Millisecond
		result := trace.Success
		if i%1000 == 999 {
			result = trace.Failure
		}
		rec.Add(trace.Record{T: virtual.At(t), Kind: trace.ProbeExecuted, Pod: "default/web", Container: "app",
			Probe: trace.Readiness, Result: result})
		if ready != (result == trace.Success) {
			ready = !ready
			rec.Add(trace.Record{T: virtual.At(t), Kind: trace.StatusPatched, Pod: "default/web",
				Status: &trace.PodStatus{Phase: "Running", Ready: ready}})
		}
	}
	return rec.Records()
}

func dayExpectations() string {
	kinds := []string{
		"{always: 1h..2h, status: {phase: Running}}",
		"{record: {kind: ProbeExecuted, result: failure}, count: 300}",
		"{since: {record: {kind: ProbeExecuted}}, first: ..1s, record: {kind: ProbeExecuted}}",
		"{since: {record: {kind: ProbeExecuted}}, never: .., record: {kind: ProbeExecuted, result: error}}",
		"{since: {record: {kind: ProbeExecuted}}, within: .., transitions: {ready: [true, any]}}",
		"{since: {becomes: {ready: false}}, first: ..1s, becomes: {ready: true}}",
	}
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintln(&b, kinds[i%len(kinds)])
	}
	return b.String()
}

// BenchmarkCheckDay checks 60 expectations. Some of them have 300,000 windows.
func BenchmarkCheckDay(b *testing.B) {
	records := day()
	h := &harness{manifests: manifest, spec: "duration: 24h\npods: [{name: web}]"}
	plan := h.scenario(dayExpectations()).Plan("v1.37", nil)
	for b.Loop() {
		if _, err := Check(plan, Run{Records: records}); err != nil {
			b.Fatal(err)
		}
	}
}

const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: w, readinessProbe: {exec: {command: [ready]}}}]}
`
