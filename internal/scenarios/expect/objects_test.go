package expect_test

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const rolledOut = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1"}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 60s
  controlPlane: {}
  pods: [{name: web}]
  services: [{name: web}]
  traffic: [{service: web, rps: 100}]
  expect:
`

// TestObjects checks expectations about a Deployment and lost requests. Until 20s one of two pods
// is Ready. From 10s to 14s half of 100 requests a second is lost, at 30s 5.5 are lost at once, and
// from 58s on all.
func TestObjects(t *testing.T) {
	at := func(s float64) virtual.Time { return virtual.At(time.Duration(s * float64(time.Second))) }
	state := func(s float64, ready int32, observed int64) trace.Record {
		return trace.Record{T: at(s), Kind: trace.WorkloadChanged, Reason: "status",
			Object: &trace.Object{Name: "Deployment default/web",
				Workload: &trace.Workload{Desired: 2, Replicas: 2, Updated: 2, Ready: ready, Available: ready,
					Generation: 2, Observed: observed}}}
	}
	loss := func(s float64, kind trace.Kind, pod, reason string, took time.Duration, one int,
		lost float64) trace.Record {
		return trace.Record{T: at(s), Kind: kind, Pod: pod, Reason: reason, Took: took,
			Object: &trace.Object{Name: "Service default/web",
				Loss: &trace.Loss{Router: "kube-proxy", Rate: 100, One: one, Of: 2, Lost: lost}}}
	}
	records := []trace.Record{
		state(5, 1, 1),
		loss(10, trace.LossStarted, "default/web-1-0", "refused", 0, 1, 0),
		loss(14, trace.LossEnded, "default/web-1-0", "refused", 4*time.Second, 1, 200),
		state(20, 2, 2),
		loss(30, trace.LossEnded, "default/web-1-1", "inFlight", 0, 1, 5.5),
		loss(58, trace.LossStarted, "", "noEndpoints", 0, 2, 0),
	}
	for i := range records {
		records[i].Step = int64(i + 1)
	}
	for expectation, got := range map[string]string{
		"{within: 0s..60s, workload: web, becomes: {complete: true}}": "",
		"{within: 0s..19s, workload: web, becomes: {complete: true}}": "none; the next one at " +
			"20.000s",
		"{always: 5s..60s, workload: web, status: {readyReplicas: 1..}}": "",
		"{always: 5s..60s, workload: web, status: {readyReplicas: 2}}": "{readyReplicas: 1} from " +
			"5.000s to 20.000s",
		"{never: 0s..60s, workload: web, status: {readyReplicas: 2, complete: false}}": "",
		"{within: .., service: web, lost: 405..406}":                                   "",
		"{within: .., service: web, lost: ..405}": "405.5 lost, at 14.000s, " +
			"30.000s, 58.000s",
		"{within: 12s..13s, service: web, lost: 50}":  "",
		"{within: 15s..29s, service: web, lost: 1..}": "none lost",
		"{never: .., pod: web-1, becomes: {ready: true}, name: no pod was in the trace}": "no such pod in the run, " +
			"so nothing was checked",
	} {
		loaded, err := scenarios.LoadBytes("s.yaml", []byte(rolledOut+"  - "+expectation+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		results, err := expect.Check(loaded[0].Plans()[0], expect.Run{Records: records})
		if err != nil {
			t.Fatal(err)
		}
		switch r := results[0]; {
		case got == "" && r.Outcome != report.OK:
			t.Errorf("%s: %v, %+v", expectation, r.Outcome, r.Failures)
		case got != "" && (len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Got, got)):
			t.Errorf("%s: %+v, want %q", expectation, r.Failures, got)
		}
	}
}
