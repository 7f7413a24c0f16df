package whatif

import (
	"context"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  replicas: 3
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      initContainers: [{name: migrate, image: "orders:1"}]
      containers:
      - name: app
        image: orders:1
        ports: [{name: management, containerPort: 8081}]
        startupProbe: {httpGet: {path: /live, port: management}, periodSeconds: 5, failureThreshold: 12}
        livenessProbe: {httpGet: {path: /live, port: management}}
        readinessProbe: {exec: {command: [cat, /tmp/healthy]}}
      - {name: log, image: "log:1"}
---
apiVersion: v1
kind: Service
metadata: {name: orders}
---
apiVersion: v1
kind: Pod
metadata: {name: orders}
spec: {containers: [{name: web, image: "web:1", livenessProbe: {exec: {command: [a]}}}]}
`

func options(words ...string) Options {
	return Options{Manifest: "k8s/orders.yaml", Data: []byte(manifest), File: "k8s/orders.yaml", Words: words}
}

// scenarioText returns the text of a scenario.
func scenarioText(o Options) ([]byte, error) {
	_, file, err := Scenario(o)
	if err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// rules returns the rules of a scenario, each after its container, and the steps after the word
// node.
func rules(text []byte) string {
	var lines []string
	container := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "- name: "); ok {
			container = after
		}
		if line == "steps:" {
			container = "node"
		}
		if rule, _, ok := strings.Cut(line, " # "); ok && strings.HasPrefix(rule, "- {") {
			lines = append(lines, container+" "+strings.TrimPrefix(rule, "- "))
		}
	}
	return strings.Join(lines, "; ")
}

func TestEvents(t *testing.T) {
	for _, test := range []struct{ event, want string }{
		{"start 45s..70s", "app {for: 45s..1m10s, probes: down}; web {for: 45s..1m10s, probes: down}"},
		{"app=start 45s", "app {for: 45s, probes: down}"},
		{"orders/app = start 45s", ""},
		{"orders/app=start 45s", "app {for: 45s, probes: down}"},
		{"web=stall 12s every 1h", "web {after: 0s..1h, for: 12s, every: 1h, probes: stall}"},
		{"web=stall 12s every 55m..65m after 10m", "web {after: 10m, for: 12s, every: 55m..1h5m, probes: stall}"},
		{"web=down 2m at 10m", "web {at: 10m, for: 2m, probes: down}"},
		{"web=down at 10m 2m", "web {at: 10m, for: 2m, probes: down}"},
		{"web=down", "web {probes: down}"},
		{"web=hang 5%", "web {chance: 5%, probes: hang}"},
		{"web=ok in 2s..3s 5m at 10m", "web {at: 10m, for: 5m, probes: ok in 2s..3s}"},
		{"web=liveness 1 in 2s", "web {liveness: 1 in 2s}"},
		{"http:management/live 503 2m at 10m", "app {at: 10m, for: 2m, endpoints: {http:management/live: 503}}"},
		{"exec:cat /tmp/healthy fail 2m", "app {for: 2m, endpoints: {exec:cat /tmp/healthy: fail}}"},
		{"readiness fail 1m after 5m", "app {after: 5m, for: 1m, readiness: fail}"},
		{"exit 3 at 5m", "app {at: 5m, exit: 3}; web {at: 5m, exit: 3}"},
		{"log=exit after 5m..6m", "log {after: 5m..6m, exit: 1}"},
		{"migrate=exit 1 after 2s", "migrate {after: 2s, exit: 1}"},
		{"log=stop 20s", "log {afterSigterm: 20s, exit: 0}"},
		{"kubelet down 10s at 10m", "node {at: 10m, restartKubelet: {downtime: 10s}}"},
		{"api down 1m..2m at 10m..11m", "node {at: 10m..11m, apiDown: {for: 1m..2m}}"},
		{"delete at 10m", "node {at: 10m, delete: {pod: orders}}"},
		{"orders=delete at 10m..11m", "node {at: 10m..11m, delete: {pod: orders}}"},
	} {
		text, err := scenarioText(options(test.event))
		if test.want == "" {
			if err == nil {
				t.Errorf("%s: %s, want an error", test.event, rules(text))
			}
			continue
		}
		if got := rules(text); err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", test.event, got, err, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ event, want string }{
		{"", "has no event"},
		{"2m at 10m", "has no event"},
		{"start", "start has the time that it takes"},
		{"start 45", `"45" is not a time: write start and a time with a unit`},

		{"start 45s at 2m", "start has the time that it takes and no other"},
		{"stal 12s", `unknown word "stal" (did you mean "stall"?)`},
		{"stall 12s evry 1h", `unknown word "evry" (did you mean "every"?)`},
		{"readiness 5o3 2m at 5m", `unknown word "5o3" (did you mean "503"?)`},
		{"start 12sec", `"12sec" is not a duration such as 45s, 1m30s or 150.337s (did you mean 12s?)`},
		{"stall", "stall needs a length, such as stall 12s"},
		{"stall 12x", "12x"},
		{"stall 12s every", "every needs a time, such as every 10m"},
		{"stall 12s every 10s", "windows would overlap"},
		{"down every 1h", "every needs a length"},
		{"down 1m 2m", "has a length twice"},
		{"down 1m at 1m at 2m", "has at twice"},
		{"down 1m at 1m after 2m", "has two times"},
		{"down 200%", "200%"},
		{"exit", "exit has a time, and a length only with at"},
		{"exit 300 at 1m", "300"},
		{"exit 1 2m", "exit has a time, and a length only with at"},
		{"exit 1 2m after 5m", "exit has a time, and a length only with at"},
		{"exit 1 every 1h at 5m", "exit has a time, and a length"},
		{"readines fail 1m", `"readines" is neither a probe nor an endpoint (did you mean "readiness"?)`},
		{"ap=down 1m", `there is no container "ap" (did you mean "app"?); the containers are app, log, migrate, web`},
		{"log=down 1m", `the container "log" has no probes`},
		{"preStop fail", "no container has a preStop that asks its program"},
		{"http:managment/live 503", `no container asks at "http:managment/live"`},
		{"web=503 1m", `--app "web=503 1m": 503 is not an exit code`},
		{"down at 10m..", "open end"},
		{"kubelet down", "kubelet down has a length and a time, such as kubelet down 10s at 10m"},
		{"web=runtime down 1m at 1m", "the runtime is not part of a container"},
		{"delete", "delete happens once: write at and a time, such as delete at 10m"},
		{"delete 1m at 10m", "delete happens once"},
		{"app=delete at 10m", `there is no workload "app"; the workloads are orders`},
		{"kubelet fail 1m at 1m", `"kubelet" is neither a probe nor an endpoint`},
	} {
		if _, err := scenarioText(options(test.event)); err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.HasPrefix(err.Error(), "--app ") {
			t.Errorf("%s: %v, want %s", test.event, err, test.want)
		}
	}
	_, err := scenarioText(options("stal 1m", "down 1m", "exit"))
	if err == nil || strings.Count(err.Error(), "--app") != 2 {
		t.Errorf("the error is %v, want one line for each wrong event", err)
	}
	_, err = scenarioText(options("stall 1m every 30s"))
	if err == nil || strings.Count(err.Error(), "--app") != 1 {
		t.Errorf("the error is %v, want one line for all containers", err)
	}
	bare := pods("{containers: [{name: app, image: x}]}")
	if _, err := scenarioText(Options{Manifest: "m.yaml", Data: bare, Words: []string{"exit 1 at 1m"}}); err == nil ||
		!strings.Contains(err.Error(), "no container has probes: name one, as in app=exit 1 at 1m") {
		t.Errorf("without probes: %v", err)
	}
	if _, err := scenarioText(Options{Manifest: "m.yaml",
		Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: a}}")}); err == nil ||
		!strings.Contains(err.Error(), "m.yaml has no workload") {
		t.Errorf("without workloads: %v", err)
	}
}

func pods(spec string) []byte {
	return []byte("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: " + spec + "}\n")
}

// TestDuration checks that the events of a scenario happen in its time.
func TestDuration(t *testing.T) {
	for event, want := range map[string]string{"start 45s": "10m", "down 2m at 10m": "17m", "stall 1s every 1h": "3h5m",
		"down 1m at 1000h": "720h"} {
		text, err := scenarioText(options(event))
		if event == "down 1m at 1000h" {
			if err == nil {
				t.Errorf("%s: want an error", event)
			}
			continue
		}
		if err != nil || !strings.Contains(string(text), "\n  duration: "+want+"\n") {
			t.Errorf("%s: %v in\n%s\nwant %s", event, err, text, want)
		}
	}
}

// TestPrintedScenario runs the scenario of some events and the printed scenario, with and without a
// copy of the manifest. The runs have the same trace.
func TestPrintedScenario(t *testing.T) {
	o := options("start 45s..70s", "stall 12s every 3m", "http:8081/live 503 1m at 5m", "log=exit 1 after 2m",
		"kubelet down 5s..9s at 4m")
	s, _, err := Scenario(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := scenarioText(o)
	if err != nil {
		t.Fatal(err)
	}
	inline := o
	inline.File = ""
	whole, err := scenarioText(inline)
	if err != nil {
		t.Fatal(err)
	}
	readFile := func(string) ([]byte, error) { return o.Data, nil }
	for _, seed := range []*int64{nil, new(int64(7))} {
		want := hash(t, s, seed)
		for _, text := range [][]byte{text, whole} {
			printed, err := scenarios.LoadBytes("s.yaml", text, readFile)
			if err != nil {
				t.Fatal(err)
			}
			if got := hash(t, printed[0], seed); got != want {
				t.Errorf("the hash is %s, want %s", got, want)
			}
		}
	}
}

func hash(t *testing.T, s *scenarios.Scenario, seed *int64) string {
	t.Helper()
	run := simulate.Run(context.Background(), s.Plan("v1.37", seed), simulate.Options{})
	if run.Err != nil {
		t.Fatal(run.Err)
	}
	return trace.Hash(run.Records)
}

// FuzzScenario checks that no event makes Scenario panic or write an invalid file.
func FuzzScenario(f *testing.F) {
	for _, event := range []string{"start 45s..70s", "app=stall 12s every 1h", "http:8081/live 503 2m at 10m",
		"exit 1 at 5m", "exec:cat /tmp/healthy fail 5%", "web=ok in 2s 1m", "registry down 1m at 2m"} {
		f.Add(event)
	}
	f.Fuzz(func(t *testing.T, event string) {
		if len(event) > 1000 {
			return
		}
		for _, file := range []string{"k8s/orders.yaml", ""} {
			o := options(event)
			o.File = file
			if text, err := scenarioText(o); err == nil && len(text) == 0 {
				t.Errorf("%q: an empty scenario", event)
			}
		}
	})
}

// TestHookWithoutProbes checks that an answer to a hook needs no name of its container, which may
// have no probes.
func TestHookWithoutProbes(t *testing.T) {
	const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: "app:1", livenessProbe: {exec: {command: [a]}}}
  - {name: proxy, image: "proxy:1", lifecycle: {postStart: {exec: {command: [wait]}}, preStop: {httpGet: {path: /drain, port: 80}}}}
`
	for _, test := range []struct{ words, want string }{
		{"postStart 0 in 20s", "proxy {postStart: 0 in 20s}"},
		{"http:80/drain 200 in 5s", "proxy {endpoints: {http:80/drain: 200 in 5s}}"},
	} {
		text, err := scenarioText(Options{Manifest: "web.yaml", Data: []byte(manifest), File: "web.yaml",
			Words: []string{test.words}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(rules(text)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.words, got, test.want)
		}
	}
}

// TestRollout writes what a Deployment needs beside its controllers: its Service, requests, and the
// usual stop of its program.
func TestRollout(t *testing.T) {
	const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 20
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1", readinessProbe: {httpGet: {port: 80}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	for _, c := range []struct {
		file string
		word []string
		want []string
		lost bool
	}{
		{"web.yaml", []string{"start 5s", "rollout at 1m"},
			[]string{"controlPlane: {set: typical}", "replicas: 10 # of 20", "{afterSigterm: 0s, refuse: true} # usual",
				"{afterSigterm: 100ms, exit: 0} # usual", "- {name: front, file: web.yaml}",
				"{service: front, rps: 100, latency: 10ms..50ms}", "{at: 1m, rollout: {workload: web, restart: true}}"},
			true},
		{"", []string{"web=scale 4 at 2m", "refuse 2s", "stop 3s"},
			[]string{"- {name: web} # made from the labels", "{afterSigterm: 2s, refuse: true} # refuse 2s",
				"{afterSigterm: 3s, exit: 0} # stop 3s", "{at: 2m, scale: {workload: web, replicas: 4}}"}, false},
		{"web.yaml", []string{"rollout at 1m", "undo at 3m"}, []string{"{at: 3m, rollout: {workload: web, undo: 0}}"},
			true},
	} {
		o := Options{Manifest: "web.yaml", Data: []byte(web), File: c.file, Words: c.word}
		text, err := scenarioText(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		s, _, err := Scenario(o)
		if err != nil {
			t.Fatal(err)
		}
		run := simulate.Run(context.Background(), s.Plans()[0], simulate.Options{})
		lost := trace.Count(run.Records, func(r *trace.Record) bool { return r.Kind == trace.LossEnded }) > 0
		if run.Err != nil || len(run.Unreached) > 0 || lost != c.lost {
			t.Errorf("%q: %v %v, lost %v", c.word, run.Err, run.Unreached, lost)
		}
	}
	for word, want := range map[string]string{
		"rollout":           "rollout happens once: write at and a time, such as rollout at 10m",
		"scale at 2m":       "scale needs the number of replicas: write scale 5 at 2m",
		"refuse":            "refuse has the time that it takes and no other, such as refuse 3s",
		"db=rollout at 1m":  `there is no Deployment "db"; the workloads are web`,
		"undo at 1m":        "there is no earlier ReplicaSet",
		"refuse 2s at 10m":  "refuse has the time that it takes and no other",
		"web=scale x at 2m": `"x" is no number of replicas`,
	} {
		_, err := scenarioText(Options{Manifest: "web.yaml", Data: []byte(web), File: "web.yaml",
			Words: []string{word}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
