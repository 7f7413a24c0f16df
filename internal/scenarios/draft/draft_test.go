package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
)

// TestPublished drafts a scenario for each published manifest of the library.
func TestPublished(t *testing.T) {
	count := 0
	err := fs.WalkDir(library.FS, "manifests/published", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			return err
		}
		data, err := library.FS.ReadFile(name)
		if err != nil {
			return err
		}
		m, err := manifests.Read(name, data)
		if err != nil || len(m.Workloads) == 0 {
			return err
		}
		count++
		t.Run(path.Base(name), func(t *testing.T) { checkDraft(t, name, data) })
		return nil
	})
	if err != nil || count < 15 {
		t.Errorf("found %d manifests: %v", count, err)
	}
}

// unusual are manifests, each with a text that the draft must contain.
var unusual = []struct{ name, manifest, want string }{
	{"no probes", pod("web", "{containers: [{name: app, image: x}]}"), "afterSigterm: 2s"},
	{"init containers", pod("web",
		`{initContainers: [{name: a, image: x}, {name: proxy, image: x, restartPolicy: Always, startupProbe: {tcpSocket: {port: 1}}}, {name: b, image: x}],
		containers: [{name: app, image: x, readinessProbe: {grpc: {port: 5}}}]}`), "- {startup: ok in 2ms}"},
	{"never restarted", pod("once", "{restartPolicy: Never, containers: [{name: app, image: x}]}"),
		"within: ..40s, status: {phase: Succeeded}"},
	{"restarted on failure", pod("once",
		"{restartPolicy: OnFailure, containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}}}]}"),
		"phase: Succeeded"},
	{"killed by one failure", pod("web", "{containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}, "+
		"failureThreshold: 1}}]}"), "It answers immediately"},
	{"killed by one failure after a delay",
		pod("web", "{containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}, failureThreshold: 1, "+
			"initialDelaySeconds: 3}}]}"), "It starts in 1.5s"},
	{"all handlers and hooks", pod("web",
		`{containers: [{name: app, image: x, startupProbe: {exec: {command: [a]}, periodSeconds: 1, failureThreshold: 30},
		livenessProbe: {grpc: {port: 5}}, readinessProbe: {httpGet: {port: 80}}, lifecycle: {postStart: {exec: {command: [a]}}, preStop: {httpGet: {port: 80}}}}]}`),
		"- {startup: 0 in 20ms, liveness: SERVING in 11ms, readiness: 200 in 9ms, postStart: 0 in 20ms, preStop: 200 " +
			"in 9ms}"},
	{"probes of one endpoint", pod("web",
		`{containers: [{name: app, image: x, ports: [{name: http, containerPort: 80}], startupProbe: {httpGet: {port: http, path: /live}}, livenessProbe: {httpGet: {port: 80, path: /live}},
		readinessProbe: {httpGet: {port: 80, path: "/ready?a={b}"}}, lifecycle: {preStop: {httpGet: {port: http, path: live}}}}]}`),
		"- {readiness: 200 in 9ms, endpoints: {http:80/live: 200 in 9ms}}"},
	{"readiness and liveness probes of one endpoint",
		pod("web", `{containers: [{name: app, image: x, livenessProbe: {exec: {command: [sh, -c, "a | b: c"]}}, `+
			`readinessProbe: {exec: {command: [sh, -c, "a | b: c"]}}}]}`),
		`{at: 3m, for: 30s, endpoints: {"exec:sh -c a | b: c": 1}}`},
	{"probes of one long command",
		pod("web", fmt.Sprintf("{containers: [{name: app, image: x, livenessProbe: {exec: {command: [%[1]s]}}, "+
			"readinessProbe: {exec: {command: [%[1]s]}}}]}", strings.Repeat("a", 90))),
		"- {liveness: 0 in 20ms, readiness: 0 in 20ms}"},
	{"unknown port of a liveness probe",
		pod("web", `{containers: [{name: app, image: x, livenessProbe: {tcpSocket: {port: gone}}}]}`),
		"It becomes Ready at"},
	{"sleeping hook", pod("web", "{containers: [{name: app, image: x, lifecycle: {preStop: {sleep: {seconds: 3}}}}]}"),
		"first: "},
	{"readiness gate", pod("web", "{readinessGates: [{conditionType: example.com/lb}], containers: [{name: app, "+
		"image: x}]}"), `{type: example.com/lb, status: "True"}`},
	{"ready after an hour", pod("web", "{containers: [{name: app, image: x, readinessProbe: {tcpSocket: {port: 1}, "+
		"initialDelaySeconds: 3600}}]}"), "duration: 3h"},
	{"ready late in the run", pod("web", "{containers: [{name: app, image: x, readinessProbe: {tcpSocket: {port: 1}, "+
		"initialDelaySeconds: 10795}}]}"), "did not become ready"},
	{"never ready", pod("web", "{containers: [{name: app, image: x, readinessProbe: {tcpSocket: {port: 1}, "+
		"initialDelaySeconds: 2000000000}}]}"), "did not become ready"},
	{"huge numbers", pod("web", `{terminationGracePeriodSeconds: 9223372036854775807, containers: [{name: app, image: x,
		livenessProbe: {tcpSocket: {port: 1}, failureThreshold: 2147483647, periodSeconds: 2147483647, timeoutSeconds: 2147483647}}]}`), "It starts in 10s"},
	{"huge delays", pod("web", `{containers: [{name: app, image: x, startupProbe: {tcpSocket: {port: 1}, `+
		`initialDelaySeconds: 2147483647, periodSeconds: 2147483647}}]}`), "did not become ready"},
	{"deadline", pod("web", "{activeDeadlineSeconds: 60, containers: [{name: app, image: x}]}"), "becomes ready at"},
	{"names that look like other types",
		pod(`"123"`, `{containers: [{name: "true", image: x}, {name: "1e3", image: x}, {name: "on", image: x}, `+
			`{name: "y", image: x}]}`), `name: "true"`},
	{"generated name", strings.Replace(pod("web-", "{containers: [{name: app, image: x}]}"), "name:", "generateName:",
		1), "name: web-"},
	{"restart policy of a container",
		pod("web", `{containers: [{name: app, image: x, restartPolicy: Never}, {name: b, image: x}]}`),
		"after: 30s, exit: 0"},
	{"job", workload("Job", "batch/v1", "parallelism: 5, completions: 20, template: {spec: {restartPolicy: Never, "+
		"containers: [{name: a, image: x}]}}"), "replicas: 3"},
	{"job with a sidecar", workload("Job", "batch/v1",
		"template: {spec: {restartPolicy: OnFailure, initContainers: [{name: s, image: x, restartPolicy: Always}], "+
			"containers: [{name: a, image: x}]}}"), "phase: succeeded"},
	{"cron job", workload("CronJob", "batch/v1",
		`schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}}`), "phase: succeeded"},
	{"deployment without replicas", workload("Deployment", "apps/v1", server+", replicas: 0"), "replicas: 1"},
	{"deployment with many replicas", workload("Deployment", "apps/v1", server+", replicas: 2000000000"),
		"replicas: 3"},
	{"daemon set", workload("DaemonSet", "apps/v1", server), "first: "},
	{"rollout", workload("Rollout", "argoproj.io/v1alpha1", server+", replicas: 2, strategy: {canary: {}}"),
		"pod: work, first: "},
	{"custom resources with and without pods", workload("Rollout", "argoproj.io/v1alpha1", server) + "---\n" +
		workload("MachineSet", "cluster.x-k8s.io/v1", "template: {spec: {version: v1}}"), "name: work"},
	{"knative service", workload("Service", "serving.knative.dev/v1",
		"template: {spec: {timeoutSeconds: 5, containers: [{image: x, readinessProbe: {httpGet: {path: /}}}]}}"),
		"name: user-container"},
	{"two workloads with one name", workload("Deployment", "apps/v1", server) + "---\n" +
		strings.Replace(workload("DaemonSet", "apps/v1", server), "name: work", "name: work, namespace: b", 1),
		"name: b/work"},
	{"a workload in two namespaces", workload("Deployment", "apps/v1", server) + "---\n" +
		strings.Replace(workload("Deployment", "apps/v1", server), "name: work", "name: work, namespace: b", 1),
		"pod: default/work"},
	{"unsupported workload", pod("web", "{os: {name: windows}, containers: [{name: app, image: x}]}") + "---\n" +
		pod("b", "{containers: [{name: app, image: x}]}"), "web is left out"},
	{"other objects", "{apiVersion: v1, kind: Service, metadata: {name: x}}\n---\n" +
		pod("web", "{containers: [{name: app, image: x}]}"), "name: web"},
	{"list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: x}}\n- " +
		"{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: x}]}}\n", "name: web"},
	{"pod list", "apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: web}, spec: {containers: [{name: a, " +
		"image: x}]}}\n- {metadata: {name: b}, spec: {containers: [{name: a, image: x}]}}\n", "pod: b,"},
}

const server = "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: " +
	"a, image: x, readinessProbe: {httpGet: {port: 80}}}]}}"

func pod(name, spec string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: %s}\n", name, spec)
}

func workload(kind, apiVersion, spec string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: work}, spec: {%s}}\n", apiVersion, kind, spec)
}

// TestUnusualManifests drafts scenarios for unusual manifests.
func TestUnusualManifests(t *testing.T) {
	for _, test := range unusual {
		t.Run(test.name, func(t *testing.T) {
			text := checkDraft(t, "../k8s/pod.yaml", []byte(test.manifest))
			if !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) {
				t.Errorf("%q is not in\n%s", test.want, text)
			}
		})
	}
}

// TestUnknownPorts drafts scenarios for pods that never become Ready, because a probe asks a port
// that does not exist.
func TestUnknownPorts(t *testing.T) {
	for _, probe := range []string{"startupProbe: {httpGet: {port: managment}}",
		"readinessProbe: {tcpSocket: {port: managment}}"} {
		manifest := pod("web", "{containers: [{name: app, image: x, ports: [{name: management, containerPort: 80}], "+
			probe+"}]}")
		text, warnings, err := Write(Options{Manifest: "m.yaml", Data: []byte(manifest)})
		if err != nil {
			t.Fatal(err)
		}
		want := `asks a port named "managment", which the container does not have (did you mean "management"?): each ` +
			`request ends with an error, and the container never becomes Ready`
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "m.yaml:1:") || !strings.HasSuffix(warnings[0], want) {
			t.Errorf("the warnings are %q", warnings)
		}
		loaded, err := scenarios.LoadBytes("s.yaml", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := simulate.Run(context.Background(), loaded[0].Plans()[0], simulate.Options{})
		if r := run.Results[0]; r.Expect.Text != "{pod: web, first: ..1m, becomes: {ready: true}}" ||
			r.Outcome != report.Failed {
			t.Errorf("%s is %v in\n%s", r.Expect.Text, r.Outcome, text)
		}
	}
}

// checkDraft drafts a scenario that refers to the manifest, and a scenario with a copy of it. The
// expectations of both must hold, and both must load with their suggestions uncommented.
func checkDraft(t *testing.T, name string, data []byte) string {
	t.Helper()
	var first string
	for _, file := range []string{name, ""} {
		text, _, err := Write(Options{Manifest: name, Data: data, File: file, Command: "init " + name, Run: "run\n"})
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		}
		readFile := func(path string) ([]byte, error) {
			if path != name {
				return nil, errors.New("no such file")
			}
			return data, nil
		}
		loaded, err := scenarios.LoadBytes("s.yaml", text, readFile)
		if err != nil || len(loaded) != 1 {
			t.Fatalf("%v in\n%s", err, text)
		}
		checkHolds(t, loaded[0], string(text))
		all := commented.ReplaceAll(text, []byte("$1$2"))
		if _, err := scenarios.LoadBytes("s.yaml", all, readFile); err != nil || string(all) == string(text) {
			t.Errorf("with the comments: %v in\n%s", err, all)
		}
	}
	return first
}

// commented matches the suggestions in comments.
var commented = regexp.MustCompile(`(?m)^( *)# (- \{|steps:|expect:|seeds:)`)

func checkHolds(t *testing.T, s *scenarios.Scenario, text string) {
	t.Helper()
	for _, plan := range s.Plans() {
		run := simulate.Run(context.Background(), plan, simulate.Options{})
		if run.Err != nil || len(run.Unreached) > 0 {
			t.Errorf("%v, unreached %v", run.Err, run.Unreached)
		}
		for _, r := range run.Results {
			if r.Outcome != report.OK {
				t.Errorf("does not hold: %s in\n%s", r.Expect.Text, text)
			}
		}
	}
}

// TestFileNames checks that drafts quote unusual file names correctly.
func TestFileNames(t *testing.T) {
	for _, name := range []string{"a b.yaml", "it's: #1.yaml", "{x}.yaml", "Über.yaml", "a\nb.yaml", "123", "true",
		"-.yaml", "../../..yaml", strings.Repeat("n", 300)} {
		checkDraft(t, name, []byte(pod("a", "{containers: [{name: app, image: x}]}")+"---\n"+
			pod("b", "{containers: [{name: app, image: x}]}")))
	}
}

func TestRejectedManifests(t *testing.T) {
	for _, test := range []struct{ manifest, want string }{
		{"", "no workload in m.yaml: the file is empty. A scenario needs at least one of Pod, Deployment, " +
			"StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob"},
		{"{apiVersion: v1, kind: Service}", "no workload in m.yaml: the file has only Service. A scenario"},
		{"{apiVersion: v1, kind: Pod", "m.yaml:1:1: "},
		{pod("web", "{containers: [{name: app, imag: x}]}"), `unknown field (did you mean "image"?)`},
		{"{apiVersion: probesim.dev/v1alpha1, kind: Scenario}",
			"m.yaml already has a Scenario: run it with 'probesim run'"},
		{pod("web", "{os: {name: windows}, containers: [{name: app, image: x}]}"),
			"none of the workloads can be simulated\nm.yaml:1:"},
		{many(201), "m.yaml has 201 workloads, but a draft can have at most 200: split the file"},
	} {
		_, _, err := Write(Options{Manifest: "m.yaml", Data: []byte(test.manifest), File: "m.yaml"})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("---\n" + pod(fmt.Sprintf("web-%d", i), "{containers: [{name: app, image: x}]}"))
	}
	return b.String()
}

// TestRandomPods drafts scenarios for random pods, some with very unusual probes.
func TestRandomPods(t *testing.T) {
	for seed := range uint64(long.Sample(12, 60)) {
		docs := strings.Split(string(random.Scenario(seed)), "\n---\n")
		docs = slices.DeleteFunc(docs, func(doc string) bool { return strings.Contains(doc, "\nkind: Scenario") })
		if len(docs) > 0 {
			t.Run(fmt.Sprint(seed),
				func(t *testing.T) { checkDraft(t, "m.yaml", []byte(strings.Join(docs, "\n---\n"))) })
		}
	}
}

// TestMostWorkloads drafts a scenario with a fifth of the maximum number of workloads, or with this
// number.
func TestMostWorkloads(t *testing.T) {
	checkDraft(t, "m.yaml", []byte(many(long.Sample(mostWorkloads/5, mostWorkloads))))
}
