package measure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/kube/profile"
)

const (
	readiness = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 10}"
	startup   = "startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 6}"
)

// pod is a pod on a node, with a start at second 10 of a minute and Ready at another second.
func pod(name, containers, ready, statuses string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: "1", controller: true}]}
spec: {nodeName: n1, terminationGracePeriodSeconds: 30, containers: [%s]}
status:
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-05-01T10:%sZ"}]
  containerStatuses: [%s]
`, name, containers, ready, statuses)
}

func running(name, at string, restarts int, last string) string {
	return fmt.Sprintf(`{name: %s, restartCount: %d, ready: true, image: "", imageID: "", state: {running: `+
		`{startedAt: "2026-05-01T10:%sZ"}}%s}`, name, restarts, at, last)
}

func of(text string, o measure.Options) *measure.Report {
	return measure.Of(incident.Read([]input.File{{Name: "pods.yaml", Data: []byte(text)}}), o)
}

// TestStarts checks the range of a start, or why it is not known.
func TestStarts(t *testing.T) {
	const app, side = "{name: app, image: i, ", "{name: side, image: i"
	for _, test := range []struct {
		name, text, want, unknown string
	}{
		{"a readiness probe", pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")), "18s..31s", ""},
		{"a startup probe", pod("web-0", app+startup+"}", "00:30", running("app", "00:10", 0, "")), "12s..21s", ""},
		{"up at once", pod("web-0", app+readiness+"}", "00:11", running("app", "00:10", 0, "")), "0s..2s", ""},
		{"a sidecar without probes", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+
			", "+running("side", "00:09", 0, "")), "18s..31s", ""},
		{"another probe", pod("web-0", app+readiness+"}, "+side+", "+readiness+"}", "00:40",
			running("app", "00:10", 0, "")+", "+running("side", "00:09", 0, "")), "0s..31s",
			"other containers of the pod have probes"},
		{"an init container", strings.Replace(
			strings.Replace(pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")), "nodeName: n1",
				"nodeName: n1, initContainers: [{name: migrate, image: i}]", 1),
			"  containerStatuses",
			`  initContainerStatuses: [{name: migrate, ready: true, restartCount: 0, image: "", imageID: "", state: {terminated: {exitCode: 0, startedAt: "2026-05-01T10:00:38Z", finishedAt: "2026-05-01T10:00:39Z"}}}]
  containerStatuses`, 1), "18s..31s", ""},
		{"a late container", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+", "+
			running("side", "00:39", 0, "")), "0s..31s", "started late"},
		{"a restart of another", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+
			", "+running("side", "00:35", 1, "")), "", "started again before"},
		{"a gate", strings.Replace(pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")),
			"nodeName: n1", "nodeName: n1, readinessGates: [{conditionType: example.com/lb}]", 1), "0s..31s",
			"readiness gates"},
		{"no probe", pod("web-0", "{name: app, image: i}", "00:40", running("app", "00:10", 0, "")), "",
			"no startup or readiness probe"},
		{"never Ready", strings.Replace(pod("web-0", app+readiness+"}", "00:09", running("app", "00:10", 0, "")),
			`"True"`, `"False"`, 1), "", "never Ready"},
		{"not Ready any more", strings.Replace(pod("web-0", app+readiness+"}", "50:40", running("app", "00:10", 0, "")),
			`"True"`, `"False"`, 1), "", "not Ready any more"},
		{"Ready a week later", strings.Replace(pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")),
			"2026-05-01T10:00:40", "2026-05-08T10:00:40", 1), "", "more than 10 minutes"},
		{"Ready before its start", pod("web-0", app+readiness+"}", "00:05", running("app", "00:10", 0, "")), "",
			"a clock was set"},
		{"not started", pod("web-0", app+readiness+"}", "00:05",
			"{name: app, restartCount: 0, image: \"\", imageID: \"\", state: {waiting: {reason: ContainerCreating}}}"),
			"", "not started"},
		{"the start of a whole node", pod("web-0", app+readiness+"}", "02:10", running("app", "00:10", 0, "")) +
			pod("web-1", app+readiness+"}", "02:11", running("app", "02:01", 0, "")), "0s..2m1s", ""},
		{"Ready again later", pod("web-0", app+startup+"}", "59:30", running("app", "00:10", 0, "")), "",
			"it has been not Ready since"},
		{"a restart of the kubelet", pod("web-0", app+readiness+"}", "59:40", running("app", "00:10", 0, "")) +
			pod("web-1", app+readiness+"}", "59:41", running("app", "30:10", 0, "")), "", "the kubelet has restarted"},
		{"two versions", pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")) +
			pod("web-0", app+readiness+"}", "55:40", running("app", "00:10", 0, "")), "18s..31s", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := of(test.text, measure.Options{}).Workloads[0].Containers[0]
			got, unknown := "", ""
			if c.Start != nil {
				got = c.Start.Whole().String()
			}
			if len(c.Unknown) > 0 {
				unknown = c.Unknown[0].Reason
			}
			if got != test.want || !strings.Contains(unknown, test.unknown) || test.unknown == "" && unknown != "" {
				t.Errorf("the start is %q, unknown: %q; want %q, %q", got, unknown, test.want, test.unknown)
			}
		})
	}
}

// TestRecordings checks what recordings of real clusters show. The k3s cluster has delays before
// the first runs, so a short start is known to a period.
func TestRecordings(t *testing.T) {
	const dir = "../incident/testdata/recordings/"
	var files []input.File
	for _, pattern := range []string{"k3s-bundle/*.json", "knative-pod-statuses/*.yaml",
		"minikube-init-crashloop/*.json", "rollout-watch-ns/*.jsonl", "troubleshoot-pod-statuses/*.json"} {
		names, err := filepath.Glob(dir + pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files: %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, input.File{Name: name, Data: data})
		}
	}
	var got []string
	for _, w := range measure.Of(incident.Read(files), measure.Options{}).Workloads {
		for _, c := range w.Containers {
			if c.Start != nil {
				got = append(got, fmt.Sprint(w.Name, "/", c.Name, " ", len(c.Starts), " ", c.Start.Whole()))
			}
		}
	}
	want := []string{"etcd-grpc-00002-deployment/queue-proxy 1 0s..1s", "memory-hungry-app/memory-hog 2 0s..14s",
		"test-probe-00001-deployment/queue-proxy 1 2m38s..2m51s",
		"coredns/coredns 1 0s..2s", "metrics-server/metrics-server 1 14s..19s", "traefik/traefik 1 0s..12s"}
	if !slices.Equal(got, want) {
		t.Errorf("the starts are %q, want %q", got, want)
	}
}

// TestEnds checks how long programs lived and how long they took to stop.
func TestEnds(t *testing.T) {
	const last = `, lastState: {terminated: {exitCode: CODE, reason: Error, startedAt: "2026-05-01T10:00:10Z", ` +
		`finishedAt: "2026-05-01T10:05:FINISHZ"}}`
	const killing = `
---
apiVersion: v1
kind: Event
metadata: {name: web-0.1, namespace: shop}
involvedObject: {kind: Pod, name: web-0, namespace: shop, fieldPath: "spec.containers{app}"}
reason: Killing
message: "Container app failed liveness probe, will be restarted"
firstTimestamp: "2026-05-01T10:05:00Z"
lastTimestamp: "2026-05-01T10:05:00Z"
count: 1
`
	for _, test := range []struct {
		name, finish, code, spec, want string
		killed                         int
	}{
		{"it exits", "04", "143", "", "3s..5s", 0},
		{"it is killed", "30", "137", "", "", 1},
		{"a hook that sleeps", "14", "0", ", lifecycle: {preStop: {sleep: {seconds: 10}}}", "3s..5s", 0},
		{"a hook of unknown length", "14", "0", ", lifecycle: {preStop: {exec: {command: [drain]}}}", "0s..15s", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := pod("web-0", "{name: app, image: i"+test.spec+"}", "06:40",
				running("app", "06:10", 1, strings.NewReplacer("CODE", test.code, "FINISH", test.finish).
					Replace(last))) + killing
			c := of(text, measure.Options{}).Workloads[0].Containers[0]
			got := ""
			if c.Stop != nil {
				got = c.Stop.String()
			}
			if got != test.want || c.Killed != test.killed || c.Kills != 1 || c.Restarts != 1 || len(c.Lives) != 1 {
				t.Errorf("stop %q, %d killed, %d kills, %d restarts, lives %v; want %q, %d", got, c.Killed, c.Kills,
					c.Restarts, c.Lives, test.want, test.killed)
			}
		})
	}
}

// TestCrashLoop checks that versions of a pod that crashes tell each life once, also while it waits
// for its next start.
func TestCrashLoop(t *testing.T) {
	const app = "{name: app, image: i, " + readiness + "}"
	ended := `lastState: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-05-01T10:00:10Z", finishedAt: ` +
		`"2026-05-01T10:00:12Z"}}`
	notReady := func(status string) string {
		return strings.Replace(pod("web-0", app, "00:01", status), `"True"`, `"False"`, 1)
	}
	text := notReady(running("app", "00:10", 1, "")) +
		notReady(`{name: app, restartCount: 1, image: "", imageID: "", state: {waiting: {reason: CrashLoopBackOff}}, `+
			ended+"}") +
		notReady(running("app", "00:30", 2, ", "+ended))
	c := of(text, measure.Options{}).Workloads[0].Containers[0]
	if len(c.Lives) != 1 || c.Lives[0].Count != 1 || c.Restarts != 2 || len(c.Unknown) != 1 ||
		c.Unknown[0].Starts != 2 {
		t.Errorf("lives %v, %d restarts, unknown %v", c.Lives, c.Restarts, c.Unknown)
	}
}

// TestVersions checks which versions count, and that an unknown one has its place.
func TestVersions(t *testing.T) {
	const node, old = "kind: Node\nstatus: {nodeInfo: {kubeletVersion: v1.34.2+k3s1}}\n", "\n\nkubeletVersion: v1.20.1"
	for _, test := range []struct{ text, want string }{
		{"kind: Pod", "[] []"},
		{node + `{"kubeletVersion": "v1.33.1"}`, "[v1.33 v1.34] []"},
		{"Client Version: v1.37.0\nServer Version: v1.35.4\n", "[v1.35] []"},
		{`{"clientVersion": {"gitVersion": "v1.37.0"}, "serverVersion": {"major": "1", "gitVersion": "v1.36.1"}}`,
			"[v1.36] []"},
		{node + old, "[] [nodes.yaml:5: the rules of kubelets of v1.20 are not known: those of " +
			strings.Join(profile.Names(), ", ") + " count]"},
	} {
		list, problems := measure.Versions([]input.File{{Name: "nodes.yaml", Data: []byte(test.text)}})
		names := []string{}
		for _, p := range list {
			names = append(names, p.Version)
		}
		if got := fmt.Sprint(names, problems); got != test.want {
			t.Errorf("the versions in %q are %s, want %s", test.text, got, test.want)
		}
	}
}

func BenchmarkTwoHundredPods(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		text.WriteString(pod(fmt.Sprint("web-", i), "{name: app, image: i, "+readiness+", "+startup+"}", "00:30",
			running("app", "00:10", 0, "")))
	}
	rec := incident.Read([]input.File{{Name: "pods.yaml", Data: []byte(text.String())}})
	for b.Loop() {
		measure.Of(rec, measure.Options{})
	}
}
