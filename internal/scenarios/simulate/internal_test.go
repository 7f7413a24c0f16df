package simulate

import (
	"context"
	"strings"
	"testing"

	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
)

const failingProbe = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: w, livenessProbe: {exec: {command: [live]}, initialDelaySeconds: 15}, readinessProbe: {exec: {command: [ready]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 3m
  pods: [{name: web, containers: [{name: app, behavior: [{liveness: fail}, {readiness: [fail x2, ok]}]}]}]
  expect:
`

// TestInternalRecordsCanFail checks that expectations with never about internal records of a
// container and an instance fail in a run that has such records.
func TestInternalRecordsCanFail(t *testing.T) {
	lines := []string{
		"{container: app, never: .., record: {kind: ResultChanged}}",
		"{container: app, instance: 1, never: .., record: {kind: ResultChanged, reason: /_1$/, message: Failure}}",
		"{container: app, instance: 1, never: .., record: {kind: ProbeSkipped}}",
		"{container: app, instance: 1, never: .., record: {kind: ManualTrigger}}",
		"{container: app, instance: 1, never: .., record: {kind: TriggerTaken}}",
		"{container: app, instance: 1, never: .., record: {kind: CRICall, probe: readiness, took: ..1s}}",
		"{pod: web, never: .., record: {kind: CRICall, reason: APIPatch}}",
		"{pod: web, never: .., record: {kind: Relist, message: /web/}}",
		"{pod: web, never: .., record: {kind: SyncLoop, reason: liveness, message: Failure}}",
	}
	all, err := scenarios.LoadBytes("s.yaml", []byte(failingProbe+"  - "+strings.Join(lines, "\n  - ")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Run(context.Background(), all[0].Plans()[0], Options{}).Results {
		if r.Outcome != report.Failed {
			t.Errorf("%s holds", r.Expect.Text)
		}
	}
}
