package proof

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/scenario"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/trace"
)

// webRun is the scenario of a pod with one container.
const webRun = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", PROBES}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 5m
  pods: [{name: web, containers: [{name: app, behavior: [RULES]}]}]
`

const (
	liveness  = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 3}"
	readiness = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 10}"
	startup   = "startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 6}"
)

// incidents are runs whose recordings have scenarios.
var incidents = []struct {
	name, probes, rules string
	cause               verdict.Cause
	want                []string // in the scenario or in what it says
}{
	{"an age", liveness, "{after: 40s, liveness: 500}", verdict.LivenessProbe,
		[]string{"liveness: 500}", "The program began to fail 39.708s to 44.708s after its start."}},
	{"a start that never ends", liveness, "{liveness: down}", verdict.LivenessProbe,
		[]string{"- {liveness: down}", "from the start of each instance on"}},
	{"a time", liveness + ", " + readiness, "{at: 61s, for: 38s, probes: 503}", verdict.LivenessProbe,
		[]string{"liveness: 503}", "readiness: 503}", "With livenessProbe.failureThreshold: 8, the run has no kill",
			"It stopped failing"}},
	{"a slow answer", liveness, "{after: 20s, liveness: hang}", verdict.LivenessProbe, []string{"liveness: hang}"}},
	{"no reaction to SIGTERM", liveness, "{after: 40s, liveness: 500}, {afterSigterm: 0s, exit: never}",
		verdict.LivenessProbe, []string{"exit: never"}},
	{"a slow stop", liveness, "{after: 40s, liveness: 500}, {afterSigterm: 9s, exit: 0}", verdict.LivenessProbe,
		[]string{"exit: 0}"}},
	{"a startup probe", startup, "{startup: down}", verdict.StartupProbe, []string{"- {startup: down}"}},
	{"starts that are too slow, but for the last", liveness + ", " + readiness,
		"{instance: ..1, for: 60s, probes: down}",
		verdict.LivenessProbe, []string{"{instance: ..1, liveness: down}",
			"The start of each instance up to number 1 takes longer than the liveness probe allows."}},
	{"starts that take different times", startup,
		"{instance: 0, for: 60s, probes: down}, {instance: 1, for: 22s, probes: down}", verdict.StartupProbe,
		[]string{"{instance: ..0, startup: down}", "{instance: 1.., for: 23s, startup: down}"}},
	{"a crash loop", readiness, "{after: 3s, exit: 4}", verdict.OwnExit,
		[]string{"exit: 4}", "the exit code of the last one, 4"}},
	{"one crash", readiness, "{instance: 0, after: 70s, exit: 9}", verdict.OwnExit,
		[]string{"after: 1m10s", "exit: 9}"}},
}

// TestScenarios checks that the scenario of the verdict on a recorded run has its behavior, meets
// all facts, shows no life and no kill that the run does not have, and is the same each time.
func TestScenarios(t *testing.T) {
	for _, test := range incidents {
		t.Run(test.name, func(t *testing.T) {
			plan := load(t, []byte(strings.NewReplacer("PROBES", test.probes, "RULES", test.rules).Replace(webRun)))
			run := simulate.Run(context.Background(), plan, simulate.Options{})
			text := (&printer{cluster: record([]*v1.Pod{plan.Pods()[0].Pod}, run.Records, run.End, newest),
				release: newest}).objects()
			rec := incident.Read([]input.File{{Name: "cluster.json", Data: []byte(text)}})
			v := &verdict.Of(rec).Verdicts[0]
			if v.Cause != test.cause {
				t.Fatalf("the verdict is %s: %s", v.Cause, v.Sentence)
			}
			r, err := scenario.Of(context.Background(), rec, v)
			if err != nil {
				t.Fatal(err)
			}
			all := string(r.Text) + strings.Join(r.Remarks, "\n")
			for _, want := range test.want {
				if !strings.Contains(all, want) {
					t.Errorf("there is no %q:\n%s", want, all)
				}
			}
			again := simulate.Run(context.Background(), load(t, r.Text), simulate.Options{})
			if len(r.Misses) > 0 || r.Meets != len(again.Results) {
				t.Errorf("the run misses %q, and has %d expectations for %d facts\n%s", r.Misses, len(again.Results),
					r.Meets, r.Text)
			}
			for _, x := range again.Results {
				if x.Outcome != report.OK {
					t.Errorf("%v does not hold\n%s", x, r.Text)
				}
			}
			starts, kills := livesOf(again.Records)
			if mostStarts, mostKills := livesOf(run.Records); starts > mostStarts || kills > mostKills {
				t.Errorf("the scenario has %d starts and %d kills, and the run %d and %d\n%s", starts, kills,
					mostStarts, mostKills, r.Text)
			}
			if second, err := scenario.Of(context.Background(), rec, v); err != nil ||
				!bytes.Equal(second.Text, r.Text) {
				t.Errorf("two scenarios differ: %v\n%s\n%s", err, r.Text, second.Text)
			}
			if threshold := survives.FindStringSubmatch(strings.Join(r.Remarks, "\n")); threshold != nil {
				better := bytes.Replace(r.Text, []byte("failureThreshold: 3"),
					[]byte("failureThreshold: "+threshold[1]), 1)
				if _, kills := livesOf(simulate.Run(context.Background(), load(t, better), simulate.Options{}).
					Records); kills > 0 {
					t.Errorf("with failureThreshold: %s, the run has %d kills\n%s", threshold[1], kills, better)
				}
			}
		})
	}
}

// survives matches the setting with which a run has no kill.
var survives = regexp.MustCompile(`failureThreshold: (\d+), the run has no kill`)

// livesOf returns the number of starts and of kills by a probe.
func livesOf(records []trace.Record) (starts, kills int) {
	for i := range records {
		switch r := &records[i]; {
		case r.Kind == trace.ContainerStarted:
			starts++
		case r.Kind == trace.ContainerStopping && strings.HasSuffix(r.Reason, "Probe"):
			kills++
		}
	}
	return starts, kills
}
