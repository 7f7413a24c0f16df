package reconstruct

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"probesim.dev/incident"
	"probesim.dev/internal/long"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
)

const web = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", PROBES}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 4m
  pods: [{name: web, containers: [{name: app, behavior: [RULES]}]}]
`

const (
	liveness  = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 3}"
	readiness = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 10}"
	startup   = "startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 6}"
)

// simulated returns the recording of a run.
func simulated(t *testing.T, probes, rules string) *incident.Recording {
	t.Helper()
	return simulatedText(t, strings.NewReplacer("PROBES", probes, "RULES", rules).Replace(web), 0)
}

// simulatedText returns the recording of the run of a scenario, made at a time; 0: at its end.
func simulatedText(t *testing.T, text string, at time.Duration) *incident.Recording {
	t.Helper()
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := loaded[0].Plans()[0]
	run := simulate.Run(context.Background(), plan, simulate.Options{})
	if run.Err != nil {
		t.Fatal(run.Err)
	}
	return record(t, plan, run, virtual.At(cmp.Or(at, plan.Duration)))
}

func reconstructed(t *testing.T, rec *incident.Recording) *Result {
	t.Helper()
	r, err := Pod(context.Background(), rec, rec.Pods[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	if held, all := r.Explained(); held != all || all == 0 {
		for _, c := range r.Claims {
			if !c.Holds && !c.Beyond {
				t.Errorf("%s {%s}: %s", c.Says, c.expect, c.Reason)
			}
		}
		t.Fatalf("%d of %d facts are explained\n%s", held, all, r.Text)
	}
	return r
}

// TestInferredWindows checks that the inferred windows contain the true ones, and that the run explains all facts.
func TestInferredWindows(t *testing.T) {
	for _, test := range []struct {
		probes, rules string
		at, length    time.Duration
	}{
		{readiness, "{at: 61s, for: 47s, readiness: 503}", 61 * time.Second, 47 * time.Second},
		{readiness, "{at: 33s, for: 12s, readiness: down}", 33 * time.Second, 12 * time.Second},
		{liveness, "{at: 44s, for: 9s, liveness: 500}", 44 * time.Second, 9 * time.Second},
		{liveness, "{at: 44s, for: 9s, liveness: hang}", 44 * time.Second, 9 * time.Second},
	} {
		t.Run(test.rules, func(t *testing.T) {
			r := reconstructed(t, simulated(t, test.probes, test.rules))
			m := regexp.MustCompile(`at: (\S+), (?:for: (\S+), )?`).FindStringSubmatch(string(r.Text))
			if m == nil {
				t.Fatalf("there is no window:\n%s", r.Text)
			}
			from, to := draw(t, m[1])
			if test.at < from || test.at > to {
				t.Errorf("the failures began at %s, not in %s", test.at, m[1])
			}
			if m[2] == "" { // the recording ends before
				return
			}
			short, long := draw(t, m[2]) // the end is as uncertain as the beginning
			if end := test.at + test.length; end < from+short || end > to+long {
				t.Errorf("the failures ended at %s, not between %s and %s", end, from+short, to+long)
			}
		})
	}
}

func draw(t *testing.T, text string) (from, to time.Duration) {
	t.Helper()
	a, b, is := strings.Cut(text, "..")
	if !is {
		b = a
	}
	var err error
	if from, err = value.ParseDuration(a); err == nil {
		to, err = value.ParseDuration(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return from, to
}

// TestReconstruct reconstructs typical incidents, each of which a person can check.
func TestReconstruct(t *testing.T) {
	for _, test := range []struct{ name, probes, rules, text string }{
		{"a kill in the grace period", liveness, "{at: 61s, for: 20s, liveness: 500}, {afterSigterm: 7s, exit: 0}", "livenessProbe"},
		{"a program that ignores the stop signal", liveness, "{after: 40s, liveness: 500}, {afterSigterm: 0s, exit: never}", "exit: never"},
		{"a crash loop", readiness, "{after: 3s, exit: 4}", "exit: 4"},
		{"one crash", readiness, "{instance: 0, after: 70s, exit: 9}", "exit: 9"},
		{"a slow start", startup + ", " + readiness, "{for: 22s, probes: down}", "startup: down"},
		{"a start that is too slow", startup, "{for: 45s, probes: down}", "startup: down"},
		{"a pod that is well", liveness + ", " + readiness, "", "expect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reconstructed(t, simulated(t, test.probes, test.rules))
			if !strings.Contains(string(r.Text), test.text) {
				t.Errorf("the scenario has no %q:\n%s", test.text, r.Text)
			}
			if n, median, most := r.Precision(); n < 3 || median > 20*time.Millisecond || most > time.Second {
				t.Errorf("of %d exact times half differ by %s and all by %s", n, median, most)
			}
			loaded, err := scenarios.LoadBytes("s.yaml", r.Text, nil)
			if err != nil || len(loaded) != 1 || len(loaded[0].Spec.Expect) == 0 {
				t.Errorf("the scenario cannot be loaded: %v", err)
			}
		})
	}
}

// TestInfer checks what the search infers besides the answers of programs: that the run meets all facts, and for which reason.
func TestInfer(t *testing.T) {
	const twice = `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1", lifecycle: {postStart: {exec: {command: [warm]}}}}, {name: log, image: "log:1"}]`
	for i, test := range []struct {
		name, spec, scenario string
		until                time.Duration
		want                 []string
		without              string
	}{
		{"the kubelet restarts", `containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 5m, pods: [{name: web, containers: [{name: app, behavior: [{at: 31s, readiness: 503}]}]}], steps: [{at: 100s, restartKubelet: {}}]`, 0,
			[]string{"restartKubelet: {}"}, ""},
		{"the runtime stops", `containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [check]}}}]`,
			`duration: 5m, pods: [{name: web}], steps: [{at: 44s, runtimeDown: {for: 1m}}]`, 0, []string{"runtimeDown: {for: "}, "readiness: "},
		{"an init container that takes its time", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, kubelet: {uptime: 150.777s}, pods: [{name: web, containers: [{name: init, behavior: [{after: 7.7s, exit: 0}]}]}]`, 0, []string{"exit: 0"}, ""},
		{"a sidecar that takes its time", `initContainers: [{name: side, image: "i:1", restartPolicy: Always, startupProbe: {exec: {command: [check]}, timeoutSeconds: 9}}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: side, behavior: [{startup: ok in 4.4s}]}]}]`, 0, []string{"startup: ok in 4.4"}, ""},
		{"a changed image", `containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 2m, pods: [{name: web}], steps: [{at: 61s, patch: {pod: web, spec: {containers: [{name: app, image: "web:2"}]}}}]`, 0,
			[]string{"patch: {pod: web, spec: {containers: [{name: app, image: "}, "exit:"},
		{"a deadline", `activeDeadlineSeconds: 61, containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 2m, pods: [{name: web}]`, 0, []string{"activeDeadlineSeconds: 61"}, "delete:"},
		{"an eviction", `containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 2m, pods: [{name: web}], steps: [{at: 61s, evict: {pod: web}}]`, 0, []string{"evict: {pod: web}"}, "delete:"},
		{"different lives", `containers: [{name: app, image: "web:1"}]`,
			`duration: 4m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, after: 17s, exit: 3}, {instance: 1, after: 4s, exit: 3}]}]}]`, 0,
			[]string{"instance: 0, after: ", "instance: 1, at: "}, ""},
		{"a pod that is gone", `containers: [{name: app, image: "web:1"}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, after: 44s, exit: 3}]}]}], steps: [{at: 100s, delete: {pod: web, gracePeriodSeconds: 0}}]`, 0,
			[]string{"instance: 0, after: 4", "delete: {pod: web"}, ""},
		{"a slow runtime", `containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, delays: {createContainer: 2s, startContainer: 1.5s}}]}]`, 0,
			[]string{"createContainer: 2s, startContainer: 1.5s"}, ""},
		{"a slow hook", twice, `duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: ok in 7s}]}]}]`, 0, []string{"postStart: ok in 7"}, ""},
		{"a hook that does not end", twice, `duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: hang}]}]}]`, 0, []string{"postStart: hang"}, ""},
		{"the recording ends before a start", `containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, delays: {startContainer: 30s}}]}]`, 20 * time.Second, nil, ""},
		{"a failure now and then", `containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 10m, pods: [{name: web, containers: [{name: app, behavior: [{at: 31s, every: 70s, for: 12s, readiness: 503}]}]}]`, 0, []string{"every: "}, ""},
		{"the same failures in each life", `terminationGracePeriodSeconds: 2, containers: [{name: app, image: "web:1", ` + liveness + `}]`,
			`duration: 4m, pods: [{name: web, containers: [{name: app, behavior: [{after: 12s, liveness: [hang x2, 500]}, {afterSigterm: 0s, exit: never}]}]}]`, 0,
			[]string{"liveness: "}, ""},
		{"redirects without an end", `containers: [{name: app, image: "web:1", ` + readiness + `}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{at: 21s, readiness: around}], answers: [{name: around, code: 302, location: /, then: around}]}]}]`, 0,
			[]string{"code: 302"}, ""},
		{"short back-offs", `containers: [{name: app, image: "web:1"}]`,
			`duration: 2m, kubelet: {config: {featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}}}, pods: [{name: web, containers: [{name: app, behavior: [{after: 500ms, exit: 3}]}]}]`, 0,
			[]string{"ReduceDefaultCrashLoopBackOffDecay: true"}, ""},
		{"lives that end in different ways", `containers: [{name: app, image: "web:1", ` + liveness + `}]`,
			`duration: 4m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, after: 31s, liveness: 500}, {instance: 1, after: 8s, exit: 3}, {instance: 2, after: 21s, liveness: hang}, {instance: 3, after: 3s, exit: 4}]}]}]`, 0,
			[]string{"exit: "}, ""},
		{"a slow startup probe", `containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [check]}, periodSeconds: 17, timeoutSeconds: 9}, ` + strings.Replace(liveness, "failureThreshold: 3", "failureThreshold: 60", 1) + `}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{startup: ok in 6.9s, liveness: 500}]}]}]`, 0, []string{"startup: ok in "}, ""},
		{"a request that ends with the container", `terminationGracePeriodSeconds: 5, containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [check]}, timeoutSeconds: 9, initialDelaySeconds: 7}}]`,
			`duration: 70s, pods: [{name: web, containers: [{name: app, behavior: [{at: 57s, liveness: hang}, {afterSigterm: 0s, exit: never}]}]}], steps: [{at: 63s, delete: {pod: web}}]`, 66 * time.Second,
			[]string{"delete: {pod: web"}, ""},
		{"a hook that fails after a restart", `containers: [{name: app, image: "web:1", lifecycle: {postStart: {exec: {command: [warm]}}}}]`,
			`duration: 3m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 1.., postStart: fail}, {after: 29s, exit: 0}]}]}]`, 0, []string{"instance: 1.., postStart: fail"}, ""},
		{"a hook that ends with its container", `containers: [{name: log, image: "log:1", ` + readiness + `}, {name: app, image: "web:1", lifecycle: {postStart: {exec: {command: [warm]}}}}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: hang}, {instance: 0, after: 28s, exit: 0}]}, {name: log, behavior: [{at: 95s, readiness: 503}]}]}]`, 0, []string{"postStart: hang"}, ""},
		{"an outage of all probes in each life", `terminationGracePeriodSeconds: 1, containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [up]}, initialDelaySeconds: 4, failureThreshold: 1}, livenessProbe: {exec: {command: [up]}, initialDelaySeconds: 13, periodSeconds: 1}}]`,
			`duration: 5m, pods: [{name: web, containers: [{name: app, answers: [{name: sick, code: 1, body: not ready}], behavior: [{after: 14.6s, for: 27s, probes: sick}]}]}]`, 0,
			[]string{"probes: "}, ""},
		{"short back-offs of an init container", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, kubelet: {config: {featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}}}, pods: [{name: web, containers: [{name: init, behavior: [{instance: ..1, after: 4.3s, exit: 1}]}]}]`, 0,
			[]string{"ReduceDefaultCrashLoopBackOffDecay: true"}, ""},
		{"a probe whose period is longer than the recording", `containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [up]}, periodSeconds: 5}, readinessProbe: {exec: {command: [up]}, periodSeconds: 3300, successThreshold: 2}}]`,
			`duration: 1m, kubelet: {uptime: 1h}, pods: [{name: web}]`, 0, []string{"uptime: "}, ""},
		{"a restart of the kubelet after which the first start is lost", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [up]}, periodSeconds: 3}}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{at: 53s, for: 1m, probes: 1}]}]}], steps: [{since: {container: app, record: {kind: ContainerStarted}}, restartKubelet: {}}]`, 0,
			nil, "startContainer"},
		{"a registry that is down at first", `containers: [{name: app, image: "web:1", imagePullPolicy: Always, ` + readiness + `}]`,
			`duration: 4m, delays: {imagePull: 1.3s}, pods: [{name: web}], steps: [{at: 0s, registryDown: {for: 71s}}]`, 0, []string{"registryDown: {for: "}, "exit:"},
		{"an image that cannot be pulled", `containers: [{name: log, image: "log:1"}, {name: app, image: "web:1", imagePullPolicy: Always}]`,
			`duration: 3m, pods: [{name: web}], steps: [{at: 0s, registryDown: {}}]`, 0, []string{"registryDown: {}"}, "exit:"},
		{"an image that cannot be pulled after a crash", `containers: [{name: app, image: "web:1", imagePullPolicy: Always}]`,
			`duration: 5m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, after: 44s, exit: 3}]}]}], steps: [{at: 31s, registryDown: {for: 52s}}]`, 0,
			[]string{"exit: 3", "registryDown: {for: "}, ""},
		{"an exit beside kills", `containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [up]}, initialDelaySeconds: 8, periodSeconds: 5, failureThreshold: 1}}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{after: 9s, liveness: hang}]}]}], steps: [{at: 1s, kill: {pod: web, container: app}}]`, 0,
			[]string{"exit: 1", "liveness: hang"}, ""},
	} {
		if i%long.Sample(5, 1) != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {" + test.spec + "}\n---\n" +
				"apiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {" + test.scenario + "}\n"
			r := reconstructed(t, simulatedText(t, text, test.until))
			_, scenario, _ := strings.Cut(string(r.Text), "  kubernetesVersions:")
			behavior, _, _ := strings.Cut(scenario, "  expect:")
			for _, want := range test.want {
				if !strings.Contains(string(r.Text), want) {
					t.Errorf("there is no %q in\n%s", want, r.Text)
				}
			}
			if test.without != "" && strings.Contains(behavior, test.without) {
				t.Errorf("there is %q in\n%s", test.without, r.Text)
			}
		})
	}
}

// TestGRPCAnswers checks that the answers to gRPC probes fail them with the recorded outputs.
func TestGRPCAnswers(t *testing.T) {
	for _, answer := range []string{"NOT_SERVING", "UNAVAILABLE", "NOT_FOUND", "UNIMPLEMENTED", "CANCELLED", "down", "hang", "reset"} {
		t.Run(answer, func(t *testing.T) {
			text := `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: "web:1", readinessProbe: {grpc: {port: 80}, periodSeconds: 10}}]}}
---
{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: s}, spec: {duration: 2m, pods: [{name: web, containers: [{name: app,
  behavior: [{at: 31s, for: 30s, readiness: ` + answer + `}], answers: [{name: reset, transportError: "read: connection reset by peer"}]}]}]}}
`
			reconstructed(t, simulatedText(t, text, 0))
		})
	}
}

// TestPrevent checks the settings that prevent kills by probes.
func TestPrevent(t *testing.T) {
	for _, test := range []struct {
		name, probes, rules, says string
		changes, after            int
	}{
		{"a slow start", startup, "{instance: 0, probes: down}", "start of", 1, 0},
		{"starts that are too slow", startup, "{for: 40s, probes: down}", "does not tell how long a start takes", 0, 0},
		{"a start that never ends", startup, "{probes: down}", "does not tell how long a start takes", 0, 0},
		{"an outage", liveness, "{at: 61s, for: 16s, liveness: 500}", "stall of", 1, 0},
		{"a long outage with errors", "livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, timeoutSeconds: 10}", "{at: 61s, for: 90s, liveness: 500}, {afterSigterm: 0s, exit: never}", "no kill by a probe", 1, 0},
		{"a program that never answers", liveness, "{after: 40s, liveness: 500}", "No probe setting would have helped", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reconstructed(t, simulated(t, test.probes, test.rules))
			p, err := r.Prevent(context.Background())
			if err != nil || p == nil {
				t.Fatal(p, err)
			}
			if !strings.Contains(p.Says, test.says) || min(len(p.Changes), 1) != test.changes || p.After != test.after || p.Kills == 0 {
				t.Errorf("%+v", p)
			}
		})
	}
	r := reconstructed(t, simulated(t, readiness, "{at: 61s, for: 47s, readiness: 503}"))
	if p, err := r.Prevent(context.Background()); p != nil || err != nil {
		t.Errorf("there is nothing to prevent, but %+v, %v", p, err)
	}
}

// TestWithoutStart reconstructs failures of a pod whose start is not recorded any more, as events expire.
func TestWithoutStart(t *testing.T) {
	text := `{"kind":"Event","metadata":{"name":"web.1"},"involvedObject":{"kind":"Pod","name":"web","uid":"u","fieldPath":"spec.containers{app}"},"type":"Warning","reason":"Unhealthy","message":"Liveness probe failed: HTTP probe failed with statuscode: 500","firstTimestamp":"2024-05-18T21:00:12Z","lastTimestamp":"2024-05-18T21:00:22Z","count":2}`
	r := reconstructed(t, incident.Read([]incident.File{{Name: "events.json", Data: []byte(text)}}))
	if start := r.Zero; !start.Before(time.Date(2024, 5, 18, 21, 0, 0, 0, time.UTC)) {
		t.Errorf("the run begins at %s", start)
	}
}

// TestPartialPod gives the named port of a probe to a container whose text was cut.
func TestPartialPod(t *testing.T) {
	text := `Containers:
  app:
    State:          Running
      Started:      Sat, 18 May 2024 21:00:00 +0000
    Ready:          True
    Restart Count:  0
    Liveness:       http-get http://:http/healthz delay=0s timeout=1s period=10s #success=1 #failure=3
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  Unhealthy  10s                kubelet  Liveness probe failed: HTTP probe failed with statuscode: 500
`
	rec := incident.Read([]incident.File{{Name: "describe.txt", Data: []byte(text)}})
	m, err := newModel(rec, rec.Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	if ports := m.object.Spec.Containers[0].Ports; len(ports) != 1 || ports[0].Name != "http" {
		t.Errorf("the ports are %v", ports)
	}
}

// TestWithoutManifest infers the settings of a probe from events alone.
func TestWithoutManifest(t *testing.T) {
	event := func(reason, message, first, nanos, last string, count int) string {
		return fmt.Sprintf(`{"kind":"Event","metadata":{"name":"web.%s"},"involvedObject":{"kind":"Pod","name":"web","uid":"u","fieldPath":"spec.containers{app}"},"reason":%q,"message":%q,"firstTimestamp":%q,"lastTimestamp":%q,"count":%d}`+"\n",
			nanos, reason, message, first, last, count)
	}
	at := func(s string) string {
		when, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", when.UnixNano())
	}
	text := event("Started", "Started container app", "2024-05-18T21:00:00Z", at("2024-05-18T21:00:00.3Z"), "2024-05-18T21:00:36Z", 2) +
		event("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500", "2024-05-18T21:00:29Z", at("2024-05-18T21:00:29.5Z"), "2024-05-18T21:00:35Z", 3) +
		event("Killing", "Container app failed liveness probe, will be restarted", "2024-05-18T21:00:35Z", at("2024-05-18T21:00:35.51Z"), "2024-05-18T21:00:35Z", 1)
	rec := incident.Read([]incident.File{{Name: "events.json", Data: []byte(text)}})
	m, err := newModel(rec, rec.Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	if p := m.object.Spec.Containers[0].LivenessProbe; p == nil || p.HTTPGet == nil || p.PeriodSeconds != 3 || p.FailureThreshold != 3 || len(m.assumed) != 2 {
		t.Errorf("the probe is %+v, assumed %q", p, m.assumed)
	}
	none := incident.Read([]incident.File{{Name: "x", Data: []byte(`{"kind":"Event","metadata":{"name":"a"},"involvedObject":{"kind":"Pod","name":"web"},"reason":"Scheduled","firstTimestamp":"2024-05-18T21:00:00Z"}`)}})
	if _, err := Pod(context.Background(), none, none.Pods[0], Options{}); err != ErrNothing {
		t.Errorf("the error is %v", err)
	}
}

// TestAssumedPeriod checks that the period of a probe that the recording does not have is short enough for an early failure.
func TestAssumedPeriod(t *testing.T) {
	for _, test := range []struct {
		name, failure, start string
		period               int32
	}{
		{"within the first period", "27s", "30s", 4},
		{"after the first period", "15s", "30s", 10},
		{"after a restart", "27s", "30s (x2 over 50s)", 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := incident.Read([]incident.File{{Name: "events.txt", Data: []byte(`
  Normal   Started    ` + test.start + `  kubelet  Started container app
  Warning  Unhealthy  ` + test.failure + `  kubelet  Startup probe failed: not yet
`)}})
			m, err := newModel(rec, rec.Pods[0])
			if err != nil {
				t.Fatal(err)
			}
			if p := m.object.Spec.Containers[0].StartupProbe; p == nil || p.PeriodSeconds != test.period {
				t.Errorf("the probe is %+v, assumed %q", p, m.assumed)
			}
		})
	}
}

// TestNeverCreated checks that no run is made up for a container that the kubelet could not create.
func TestNeverCreated(t *testing.T) {
	rec := incident.Read([]incident.File{{Name: "events.txt", Data: []byte(`
  Normal   Pulled  8s (x11 over 2m)  kubelet  Container image "web:1" already present on machine
  Warning  Failed  8s (x11 over 2m)  kubelet  Error: secret "db" not found
`)}})
	_, err := Pod(context.Background(), rec, rec.Pods[0], Options{})
	if want := `the kubelet never created container app (secret "db" not found), and a run creates all containers`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %s", err, want)
	}
}
