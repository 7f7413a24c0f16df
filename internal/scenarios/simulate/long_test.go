package simulate

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"probesim.dev/scenarios"
)

// longProgram has rules that open up to 10 minutes after the start.
const longProgram = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: w
    livenessProbe: {exec: {command: [live]}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: DURATION
  seeds: 1..3
  pods:
  - name: web
    containers:
    - name: app
      behavior:
      - {after: 2m..3m, for: 20s, liveness: fail}
      - {after: 6m, for: 1m, liveness: fail}
      - {at: 5m, every: 1m, for: 10s, liveness: fail}
      - {afterSigterm: 8m, liveness: fail}
      - {after: 10m, exit: 1}
`

// TestProgramLongerThanRun checks that a program of ten minutes can be written in a run of four,
// and that the run is the beginning of a run of ten minutes.
func TestProgramLongerThanRun(t *testing.T) {
	load := func(duration string) *scenarios.Scenario {
		all, err := scenarios.LoadBytes("s.yaml", []byte(strings.ReplaceAll(longProgram, "DURATION", duration)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	short, long := load("4m").Plans(), load("10m").Plans()
	for i := range short {
		a, b := Run(context.Background(), short[i], Options{}), Run(context.Background(), long[i], Options{})
		n := len(a.Records)
		if a.Err != nil || b.Err != nil || n == 0 || n >= len(b.Records) {
			t.Fatalf("%d records of 4m, %d of 10m, errors %v and %v", n, len(b.Records), a.Err, b.Err)
		}
		if !reflect.DeepEqual(a.Records, b.Records[:n]) || b.Records[n].T <= a.End {
			t.Errorf("plan %d: the run of 4m is not the beginning of the run of 10m", i)
		}
	}
}
