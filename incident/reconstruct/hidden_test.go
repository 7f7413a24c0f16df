package reconstruct

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/long"
	"probesim.dev/trace"
)

// TestHidden checks reconstructions of what leaves no fact of its own, so that only the times and the numbers of other facts tell it.
func TestHidden(t *testing.T) {
	const hook = `lifecycle: {postStart: {exec: {command: [warm]}}}`
	for i, test := range []struct {
		name, spec, scenario string
		until                time.Duration
		want                 string
	}{
		{"a hook after which the pod stops", `containers: [{name: app, image: "web:1", ` + hook + `}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: ok in 5.7s}]}]}], steps: [{at: 2s, evict: {pod: web}}]`,
			20 * time.Second, "postStart: ok in "},
		{"a hook after which the pod is ready", `containers: [{name: app, image: "web:1", ` + hook + `}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: ok in 7s}]}]}]`, 0, "postStart: ok in "},
		{"more syncs", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 36s, kubelet: {config: {syncFrequency: 3s}}, pods: [{name: web, containers: [{name: init, behavior: [{instance: ..2, after: 2.3s, exit: 2}]}]}]`,
			0, "syncFrequency: "},
		{"a change of the pod", `containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [ready]}, periodSeconds: 30}}]`,
			`duration: 80s, pods: [{name: web, containers: [{name: app, behavior: [{for: 44s, readiness: 1}, {at: 44s, readiness: 2}]}]}], steps: [{at: 52s, patch: {pod: web, metadata: {labels: {release: canary}}}}]`,
			55 * time.Second, "annotations: "},
		{"a reboot after which the sandbox is gone", `containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [up]}, failureThreshold: 1}}]`,
			`duration: 3m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 1, after: 20s, liveness: 1}]}]}], steps: [{at: 20s, rebootNode: {downtime: 23s}}]`,
			0, "rebootNode: "},
		{"an answer to a startup probe", `containers: [{name: app, image: "web:1", startupProbe: {tcpSocket: {port: 80}, timeoutSeconds: 9}, readinessProbe: {exec: {command: [ready]}, periodSeconds: 20, failureThreshold: 1}}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{startup: ok in 7.3s}, {after: 20s, for: 50s, readiness: 1}]}]}]`, 0, "startup: ok in "},
		{"an answer to a startup probe after which another container is probed", `containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [up]}, timeoutSeconds: 6}}, ` +
			`{name: proxy, image: "proxy:1", readinessProbe: {grpc: {port: 5000}, initialDelaySeconds: 17, periodSeconds: 14, failureThreshold: 1, successThreshold: 2}}]`,
			`duration: 90s, pods: [{name: web, containers: [{name: app, behavior: [{startup: ok in 3.3s}]}, {name: proxy, behavior: [{at: 35s, for: 28s, readiness: SERVICE_UNKNOWN}]}]}]`,
			0, "startup: ok in "},
		{"a command that its container ends", `containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [up]}, successThreshold: 2}}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, answers: [{name: busy, code: 1, ignoreTimeout: true}], behavior: [{instance: 0, at: 40s, readiness: busy in 5m}, {instance: 0, after: 55.3s, exit: 1}]}]}]`,
			0, "ignoreTimeout: true"},
		{"a code with the words of a timeout", `containers: [{name: app, image: "web:1", readinessProbe: {grpc: {port: 5000}, periodSeconds: 2, timeoutSeconds: 8}}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{for: 21s, readiness: DEADLINE_EXCEEDED}]}]}]`, 0, "readiness: DEADLINE_EXCEEDED"},
		{"a deadline after the end of the pod", `restartPolicy: Never, activeDeadlineSeconds: 90, containers: [{name: app, image: "web:1"}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{after: 13s, exit: 1}]}]}], steps: [{at: 40s, rebootNode: {}}]`, 0, "restartKubelet: "},
		{"a runtime that is away when a container ends", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: init, behavior: [{after: 5s, exit: 0}]}]}], steps: [{at: 4.8s, runtimeDown: {for: 12s}}]`, 0, "runtimeDown: "},
		{"a runtime that is not ready", `containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [up]}}}]`,
			`duration: 1m, pods: [{name: web}], steps: [{at: 1s, runtimeDown: {for: 40s, condition: RuntimeReady}}]`, 0, "for: "},
		{"a container that the runtime lost before it exited at the same age", `containers: [{name: app, image: "web:1"}]`,
			`duration: 3m, pods: [{name: web, containers: [{name: app, behavior: [{after: 21.14s, exit: 0}]}]}], steps: [{at: 11s, kill: {pod: web, container: app, remove: true}}]`, 0, "remove: true"},
		{"a request that the end of its container ends", `containers: [{name: app, image: "web:1", livenessProbe: {grpc: {port: 5000}, periodSeconds: 20, timeoutSeconds: 9, failureThreshold: 4}}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, liveness: ok in 22s}, {instance: 0, after: 25.34s, exit: 1}]}]}]`, 0, "liveness: "},
		{"a container that the runtime lost before a request", `restartPolicy: Never, containers: [{name: app, image: "web:1", livenessProbe: {grpc: {port: 5000}, periodSeconds: 2, failureThreshold: 100}}]`,
			`duration: 30s, pods: [{name: web}], steps: [{at: 18.1s, kill: {pod: web, container: app, remove: true}}]`, 0, "remove: true"},
		{"a command that the end of its stopped container ends, and other containers that never started", `initContainers: [{name: mesh, image: "mesh:1", restartPolicy: Always, ` + hook + `, ` +
			`readinessProbe: {exec: {command: [up]}, periodSeconds: 1, failureThreshold: 1}}], containers: [{name: app, image: "web:1"}]`,
			`duration: 90s, pods: [{name: web, containers: [{name: mesh, answers: [{name: busy, code: 1, ignoreTimeout: true}], behavior: [{after: 6s, readiness: busy in 5m}, {postStart: ok in 25s}, {afterSigterm: 4.1s, exit: 1}]}]}], ` +
				`steps: [{at: 6.05s, delete: {}}]`, 0, "ignoreTimeout: true"},
		{"a runtime that goes away while it stops a container", `terminationGracePeriodSeconds: 35, containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [up]}, periodSeconds: 1}, lifecycle: {preStop: {sleep: {seconds: 8}}}}]`,
			`duration: 34s, pods: [{name: web, containers: [{name: app, behavior: [{afterSigterm: 7s, exit: 143}]}]}], ` +
				`steps: [{at: 6.3s, patch: {pod: web, spec: {containers: [{name: app, image: "web:2"}]}}}, {at: 8.3s, runtimeDown: {for: 14s}}]`, 0, "runtimeDown: "},
		{"a runtime that goes away while it stops the second container", `containers: [{name: app, image: "web:1"}], initContainers: [{name: mesh, image: "mesh:1", restartPolicy: Always, readinessProbe: {httpGet: {port: 80}}}]`,
			`duration: 70s, pods: [{name: web}], steps: [{at: 10.2s, delete: {gracePeriodSeconds: 5}}, {since: {container: app, record: {kind: ContainerStopping}, pod: web}, runtimeDown: {for: 28s}}]`, 0, "runtimeDown: "},
		{"a runtime that is away when a pod with a deadline is added", `activeDeadlineSeconds: 60, containers: [{name: app, image: "web:1"}]`,
			`duration: 80s, pods: [{name: web, at: 1.3s}], steps: [{at: 1s, runtimeDown: {for: 13s}}]`, 0, "runPodSandbox: 1"},
		{"kills of which no failure tells, after which the program stops slowly", `containers: [{name: app, image: "web:1", livenessProbe: {tcpSocket: {port: 80}}}], ` +
			`initContainers: [{name: mesh, image: "mesh:1", restartPolicy: Always, readinessProbe: {httpGet: {port: nowhere}, periodSeconds: 1}}]`,
			`duration: 5m, pods: [{name: web, containers: [{name: app, behavior: [{at: 70s, for: 25s, liveness: down}, {afterSigterm: 11s, exit: 1}]}]}]`, 0, "liveness: fail"},
		{"an API server that stays away", `containers: [{name: app, image: "web:1"}]`,
			`duration: 2m, pods: [{name: web, containers: [{name: app, behavior: [{after: 30s, exit: 1}]}]}], steps: [{at: 50s, apiDown: {}}]`, 0, "apiDown: "},
		{"a kubelet whose relists are at another part of a second", `activeDeadlineSeconds: 200, containers: [{name: app, image: "web:1"}]`,
			`duration: 4m, kubelet: {uptime: 6.954s}, pods: [{name: web, containers: [{name: app, behavior: [{afterSigterm: 3s, exit: 143}]}]}]`, 0, "uptime: "},
		{"a hook before the first run of a probe", `containers: [{name: app, image: "web:1", startupProbe: {exec: {command: [up]}}, ` + hook + `}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: app, behavior: [{postStart: ok in 17s}, {for: 35s, startup: 1}]}]}]`, 40 * time.Second, "postStart: ok in "},
	} {
		if i%long.Sample(8, 1) != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {" + test.spec + "}\n---\n" +
				"apiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {" + test.scenario + "}\n"
			r := reconstructed(t, simulatedText(t, text, test.until))
			if !strings.Contains(string(r.Text), test.want) {
				t.Errorf("there is no %q in\n%s", test.want, r.Text)
			}
		})
	}
}

// TestRuntimeOfNode reconstructs a pod without commands in its probes, whose restarts an outage of the container runtime delays. Only another pod
// of the node tells about the outage.
func TestRuntimeOfNode(t *testing.T) {
	rec := simulatedText(t, `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: app, image: "web:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [up]}, periodSeconds: 5}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 7m
  pods: [{name: a, containers: [{name: app, behavior: [{after: 18s, exit: 1}]}]}, {name: b}]
  steps: [{at: 2m, runtimeDown: {for: 2m}}]
`, 0)
	r := reconstructed(t, rec)
	if steps := r.Steps(); r.Pod.Name != "a" || !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "runtimeDown") }) {
		t.Errorf("the steps of pod %s are %q", r.Pod.Name, steps)
	}
	r.Pod.Node = "another"
	other, err := Pod(context.Background(), rec, r.Pod, Options{Runs: 20})
	if err != nil {
		t.Fatal(err)
	}
	if list := tryRuntime(&search{model: other.model, best: &attempt{zero: other.Zero}}, nil); len(list) != 1 {
		t.Errorf("a pod of another node tells about the runtime: %v", list)
	}
}

// TestOverruns checks the lengths of commands that each fail long after their timeout, so that the next one runs as soon as the one before has
// ended.
func TestOverruns(t *testing.T) {
	exec := &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{}}, PeriodSeconds: 10}
	stuck := outage{word: "startup1", answer: `name: startup1, code: 1, body: "stuck"`, count: 3, first: 80 * time.Second, last: 190 * time.Second}
	often, other := stuck, stuck
	often.count = 12
	other.word, other.answer, other.first, other.last = "1", "", 55*time.Second, 165*time.Second
	for _, test := range []struct {
		probe *v1.Probe
		o     outage
		rules []string
		named string
	}{
		{exec, stuck, []string{"startup: startupOverrun1 in 55s", "at: 20s, startup: startupOverrun1 in 55s"}, `name: startupOverrun1, code: 1, body: "stuck", ignoreTimeout: true`},
		{exec, other, []string{"startup: startupOverrun in 55s"}, "name: startupOverrun, code: 1, ignoreTimeout: true"},
		{exec, often, nil, ""}, // in each period
		{&v1.Probe{PeriodSeconds: 10}, stuck, nil, ""},
	} {
		var rules []string
		for _, c := range overruns(test.probe, []outage{test.o}, trace.Startup) {
			rules = append(rules, c.rules[0].text)
			if !slices.Equal(c.answers, []string{test.named}) {
				t.Errorf("the answers are %q, want %q", c.answers, test.named)
			}
		}
		if !slices.Equal(rules, test.rules) {
			t.Errorf("overruns(%v) = %q, want %q", test.o, rules, test.rules)
		}
	}
}

func TestFittedSteps(t *testing.T) {
	late := gap{from: 29 * time.Second, to: 31 * time.Second, times: []time.Duration{20 * time.Second}}
	for _, test := range []struct {
		step string
		gap  gap
		want []string
	}{
		{"at: 5s, runtimeDown: {for: 10s}", late, []string{
			"at: 5s, runtimeDown: {for: 24.97s}", "at: 5s, runtimeDown: {for: 24.5s}", "at: 5s, runtimeDown: {for: 24s}", "at: 5s, runtimeDown: {for: 19.8s}",
			"at: 20.03s, runtimeDown: {for: 9.94s}", "at: 20.03s, runtimeDown: {for: 9.47s}", "at: 20.03s, runtimeDown: {for: 8.97s}", "at: 20.03s, runtimeDown: {for: 4.77s}",
			"at: 21s, runtimeDown: {for: 8.97s}", "at: 21s, runtimeDown: {for: 8.5s}", "at: 21s, runtimeDown: {for: 8s}", "at: 21s, runtimeDown: {for: 3.8s}",
		}},
		{"at: 5s, apiDown: {for: 20s}", gap{from: 10 * time.Second, to: 10 * time.Second, times: []time.Duration{9 * time.Second}}, []string{
			"at: 5s, apiDown: {for: 4.97s}", "at: 5s, apiDown: {for: 4.5s}", "at: 5s, apiDown: {for: 4s}",
			"at: 9.03s, apiDown: {for: 15.97s}", "at: 9.03s, apiDown: {for: 940ms}", "at: 9.03s, apiDown: {for: 470ms}", "at: 10s, apiDown: {for: 15s}",
		}},
		{"at: 35s, runtimeDown: {for: 10s}", late, nil},
		{"at: 5s, evict: {pod: web}", late, nil},
		{"at: 5s, runtimeDown: {for: 10s}", gap{from: 29 * time.Second, to: 31 * time.Second, times: []time.Duration{40 * time.Second}}, nil}, // too late, not too early
	} {
		if got := fittedSteps(test.step, []gap{test.gap}); !slices.Equal(got, test.want) {
			t.Errorf("fittedSteps(%q) = %q, want %q", test.step, got, test.want)
		}
	}
}

func TestShifts(t *testing.T) {
	for _, test := range []struct {
		at   time.Duration
		want []time.Duration
	}{
		{20 * time.Second, []time.Duration{10 * time.Second, 9020 * time.Millisecond}},
		{32 * time.Second, []time.Duration{-2 * time.Second, -1020 * time.Millisecond}},
		{30500 * time.Millisecond, []time.Duration{-500 * time.Millisecond}}, // in the window
	} {
		g := gap{from: 29 * time.Second, to: 31 * time.Second, times: []time.Duration{test.at}}
		if got := g.shifts(); !slices.Equal(got, test.want) {
			t.Errorf("shifts from %s are %v, want %v", test.at, got, test.want)
		}
	}
}

// TestClosest checks the edits from which a repair goes on: those that come closest, and those that explain all facts until a later time.
func TestClosest(t *testing.T) {
	var list []tried
	for i := range 20 {
		list = append(list, tried{missing: 100 + i, until: time.Duration(i) * time.Second})
	}
	var missing []int
	for _, c := range closest(list, 16*time.Second) {
		missing = append(missing, c.missing)
	}
	if want := []int{100, 101, 102, 103, 104, 105, 106, 107, 119, 118, 117}; !slices.Equal(missing, want) {
		t.Errorf("got %v, want %v", missing, want)
	}
}

func TestMovedSteps(t *testing.T) {
	for _, test := range []struct {
		step string
		by   time.Duration
		want []string
	}{
		{"at: 5s, evict: {pod: web}", time.Second, []string{"at: 6s, evict: {pod: web}"}},
		{"at: 5s, evict: {pod: web}", -5 * time.Second, nil},
		{"at: 5s, runtimeDown: {for: 10s}", time.Second, []string{"at: 6s, runtimeDown: {for: 10s}", "at: 5s, runtimeDown: {for: 11s}", "at: 6s, runtimeDown: {for: 9s}"}},
		{"at: 5s, rebootNode: {downtime: 2s}", 3 * time.Second, []string{"at: 8s, rebootNode: {downtime: 2s}", "at: 5s, rebootNode: {downtime: 5s}"}},
	} {
		if got := movedSteps(test.step, test.by); !slices.Equal(got, test.want) {
			t.Errorf("movedSteps(%q, %s) = %q, want %q", test.step, test.by, got, test.want)
		}
	}
}

// TestFindDeletion checks when a pod was deleted: at the recorded time of the request, if that is before the first stop.
func TestFindDeletion(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }
	stop := &incident.Fact{Kind: incident.Event, Reason: "Killing", Message: "Stopping container app", When: incident.Moment{At: at(20.5)}}
	request := func(s float64) *incident.Fact {
		return &incident.Fact{Kind: incident.Deleted, Source: incident.FromPod, When: incident.Moment{At: at(s), Within: time.Second}}
	}
	for _, test := range []struct {
		name  string
		facts []*incident.Fact
		want  time.Time
	}{
		{"only the stop", []*incident.Fact{stop}, at(20.495)},
		{"only the request", []*incident.Fact{request(18)}, at(18.5)},
		{"the request before the stop", []*incident.Fact{stop, request(18)}, at(18.5)},
		{"in the same second", []*incident.Fact{request(20), stop}, at(20.495)},
		{"another request after the stop", []*incident.Fact{request(30), stop}, at(20.495)},
	} {
		m := &model{pod: &incident.Pod{Facts: test.facts}}
		if m.findDeletion(); !m.requested.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, m.requested, test.want)
		}
	}
}
