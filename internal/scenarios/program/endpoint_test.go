package program_test

import (
	"reflect"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/program"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// endpointYAML has a container whose startup probe, liveness probe and postStart hook ask at one
// endpoint.
const endpointYAML = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web
    ports: [{name: management, containerPort: 8081}]
    startupProbe: {httpGet: {path: /live, port: management}}
    livenessProbe: {httpGet: {path: live, port: 8081, httpHeaders: [{name: a, value: b}]}}
    readinessProbe: {httpGet: {path: /ready, port: management, scheme: HTTPS}}
    lifecycle: {preStop: {exec: {command: [sh, -c, "a;  b"]}}, postStart: {httpGet: {port: management, path: /live}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec: {pods: [{name: web, containers: [{name: app, behavior: RULES}]}]}
`

func loadRules(t *testing.T, rules string) *plan.Scenario {
	t.Helper()
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(strings.Replace(endpointYAML, "RULES", rules, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0]
}

// TestEndpointRules compares rules by endpoint with rules by probe and hook.
func TestEndpointRules(t *testing.T) {
	for _, test := range []struct{ endpoints, keys string }{
		{
			"[{for: 20s, endpoints: {http:management/live: 503 in 1s}}]",
			"[{for: 20s, startup: 503 in 1s, liveness: 503 in 1s, postStart: 503 in 1s}]",
		},
		{
			"[{endpoints: {http:8081/live: [fail x2, ok], https:8081/ready: down, 'exec:sh -c a; b': 7}}]",
			"[{startup: [fail x2, ok], liveness: [fail x2, ok], readiness: down, preStop: 7}]",
		},
		{ // probes is for the probes without an answer of their own
			"[{probes: hang, endpoints: {https:management/ready: ok}}]",
			"[{startup: hang, liveness: hang, readiness: ok}]",
		},
		{ // the last rule wins, in either notation
			"[{endpoints: {https:8081/ready: ok}}, {readiness: fail}, {endpoints: {https:8081/ready: hang}}]",
			"[{readiness: ok}, {readiness: fail}, {readiness: hang}]",
		},
	} {
		got := loadRules(t, test.endpoints).Plan("v1.37", nil).Pods()[0].Program.Containers["app"].Program.Rules
		want := loadRules(t, test.keys).Plan("v1.37", nil).Pods()[0].Program.Containers["app"].Program.Rules
		for i := range want { // a list of two answers has one for a hook
			if s := want[i].Startup; s != nil && want[i].PostStart == nil && got[i].PostStart != nil {
				want[i].PostStart = s
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis %+v\nwant %+v", test.endpoints, got, want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	var got []string
	for _, e := range program.Endpoints(&loadRules(t, "[]").Plan("v1.37", nil).Pods()[0].Pod.Spec.Containers[0]) {
		got = append(got, e.Text+" of "+strings.Join(e.Keys, ", "))
	}
	want := []string{
		"http:8081/live of liveness, startup, postStart",
		"https:management/ready of readiness",
		"exec:sh -c a; b of preStop",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the endpoints are %q, want %q", got, want)
	}
}

// TestNoteOfDifferentAnswers has rules that answer two probes of one endpoint differently, and
// rules that do not.
func TestNoteOfDifferentAnswers(t *testing.T) {
	const note = "s.yaml:18:LINE: the liveness and startup probes of app both ask http:8081/live, and from this rule " +
		"on they get different answers; to answer both, use endpoints"
	for rules, column := range map[string]string{
		"[{liveness: fail}]": "63",
		"[{probes: ok}, {readiness: fail}, {at: 5m, startup: 500 in 2s}]":                           "96",
		"[{startup: fail, liveness: down}]":                                                         "63",
		"[{for: 1s, startup: fail}, {for: 2s, liveness: fail}]":                                     "89",
		"[{for: 1s, startup: fail}]":                                                                "",
		"[{for: 1s, startup: open}], answers: [{name: open, bodyEnd: never}]":                       "",
		"[{for: 1s, startup: late}], answers: [{name: late, bodyEnd: 1s}]":                          "63",
		"[{after: 1s, startup: fail}]":                                                              "63",
		"[{for: 1s, startup: [fail, ok]}]":                                                          "63",
		"[{startup: ok}, {liveness: ok}, {probes: down}]":                                           "",
		"[{at: 5m, endpoints: {http:8081/live: fail}}]":                                             "",
		"[{readiness: fail}, {postStart: fail}]":                                                    "",
		"[{for: 1s, startup: [ok x2, fail], liveness: [ok x2, fail]}, {instance: 1, probes: down}]": "",
	} {
		text := strings.NewReplacer(", httpHeaders: [{name: a, value: b}]", "", "[sh, -c, \"a;  b\"]",
			"[sleep, \"1\"]").Replace(endpointYAML)
		loaded, err := scenarios.LoadBytes("s.yaml", []byte(strings.Replace(text, "RULES", rules, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if column != "" {
			want = strings.Replace(note, "LINE", column, 1)
		}
		if got := strings.Join(loaded[0].Plan("v1.37", nil).Notes(), "\n"); got != want {
			t.Errorf("%s: the notes are\n%s\nwant\n%s", rules, got, want)
		}
	}
	if got := loadRules(t, "[{liveness: fail}, {preStop: ok}]").Plan("v1.37", nil).Notes(); got != nil {
		t.Errorf("with different headers the notes are %q", got)
	}
}
