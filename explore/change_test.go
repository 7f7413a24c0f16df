package explore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/explore"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/plan"
)

// timed has a time of each kind that can move, each with another value.
const timed = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [live]}, periodSeconds: 3, failureThreshold: 9}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: timed}
spec:
  duration: 2m
  pods:
  - name: web
    at: 1001ms
    containers:
    - name: app
      behavior:
      - {after: 6002ms, for: 8003ms, liveness: fail}
      - {at: 60004ms, for: 9005ms, liveness: fail}
      - {afterSigterm: 2006ms, exit: 0}
  steps:
  - {at: 80007ms, delete: {}}
  - {since: {record: {kind: ContainerStarted}}, after: 30008ms, kill: {}}
`

// Moving a time is the same as writing another one into the file.
func TestMovesAreEdits(t *testing.T) {
	s := subject(t, timed)
	times := s.Plan.Scenario.Times()
	if len(times) != 8 {
		t.Fatalf("the scenario has the times %v", times)
	}
	as := s.Run(explore.Change{}, false).Hash()
	for _, moved := range times {
		const by = 3500 * time.Millisecond
		old, new := fmt.Sprintf("%dms", moved.Value.Min.Milliseconds()), value.Format(moved.Value.Min+by)
		if strings.Count(timed, " "+old) != 1 {
			t.Fatalf("%s of %s is not unique in the file", old, moved.Path)
		}
		edited := subject(t, strings.Replace(timed, " "+old, " "+new, 1))
		got := s.Run(explore.Change{Shifts: []plan.Shift{{Path: moved.Path, By: by}}}, false)
		if got.Err != nil || got.Hash() != edited.Run(explore.Change{}, false).Hash() || got.Hash() == as {
			t.Errorf("%s moved by %s is not the same as the edited file (%v)", moved.Path, by, got.Err)
		}
	}
	if s.Run(explore.Change{}, false).Hash() != as {
		t.Error("a move changes the scenario itself")
	}
	if r := s.Run(explore.Change{Shifts: []plan.Shift{{Path: "spec.steps[7].at", By: time.Second}}}, false); r.Err ==
		nil {
		t.Error("a time that does not exist is moved")
	}
}

// A fault is the same as a step in the file.
func TestFaultsAreSteps(t *testing.T) {
	s := subject(t, timed)
	for kind, step := range map[explore.FaultKind]string{
		explore.KubeletRestart: "restartKubelet: {downtime: 3s}", explore.APIOutage: "apiDown: {for: 3s}",
		explore.RuntimeOutage: "runtimeDown: {for: 3s}",
	} {
		file := subject(t, timed+"  - {at: 40s, "+step+"}\n")
		edited := file.Run(explore.Change{}, false)
		got := s.Run(explore.Change{Faults: []explore.Fault{{Kind: kind, At: 40 * time.Second,
			For: 3 * time.Second}}}, false)
		// The record of an outage has the text of the step, which a fault does not have.
		if got.Err != nil || edited.Err != nil || got.History.ID() != edited.History.ID() ||
			len(got.Records) != len(edited.Records) {
			t.Errorf("%s is not the same as a step (%v, %v)", kind, got.Err, edited.Err)
		}
		if got.Hash() == s.Run(explore.Change{}, false).Hash() {
			t.Errorf("%s changes nothing", kind)
		}
	}
}

// A panic of a run is an outcome, not the end of the exploration.
func TestPanicIsAnOutcome(t *testing.T) {
	s := subject(t, race)
	s.Plan.Scenario = nil
	if r := s.Run(explore.Change{}, false); r.Err == nil || !strings.Contains(r.Err.Error(), "bug in probesim") {
		t.Errorf("the error is %v", r.Err)
	}
}
