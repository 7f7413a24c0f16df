package scenario

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// recordings has recordings of real clusters.
const recordings = "../testdata/recordings"

// of returns the verdict on a pod whose name begins so, which has a cause.
func of(t *testing.T, rec *incident.Recording, pod string, cause verdict.Cause) *verdict.Verdict {
	t.Helper()
	report := verdict.Of(rec)
	for i := range report.Verdicts {
		if v := &report.Verdicts[i]; v.Pod != nil && strings.HasPrefix(v.Pod.Name, pod) && v.Cause == cause {
			return v
		}
	}
	t.Fatalf("there is no verdict %s on a pod %s: %v", cause, pod, report.Verdicts)
	return nil
}

// written returns the scenario of a verdict, and checks that it is valid, that its expectations
// hold, that its run has no life that the recording does not show, and that its comments say what
// it adds and what it does not meet.
func written(t *testing.T, rec *incident.Recording, v *verdict.Verdict) *Result {
	t.Helper()
	r, err := Of(context.Background(), rec, v)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := scenarios.LoadBytes("incident.yaml", r.Text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	run := simulate.Run(context.Background(), loaded[0].Plans()[0], simulate.Options{})
	if len(run.Results) == 0 || r.Meets != len(run.Results) {
		t.Errorf("%d expectations for %d facts\n%s", len(run.Results), r.Meets, r.Text)
	}
	for _, x := range run.Results {
		if x.Outcome != report.OK {
			t.Errorf("%v does not hold\n%s", x, r.Text)
		}
	}
	starts := 0
	for i := range run.Records {
		if run.Records[i].Kind == trace.ContainerStarted && run.Records[i].Container == v.Container {
			starts++
		}
	}
	if most := max(v.Restarts, v.Kills) + 1; starts > most {
		t.Errorf("the run has %d starts, and the recording shows %d\n%s", starts, most, r.Text)
	}
	for _, comment := range slices.Concat(r.Remarks, r.Misses) {
		if !strings.Contains(string(r.Text), "\n# "+comment+"\n") {
			t.Errorf("no comment of the file has %q\n%s", comment, r.Text)
		}
	}
	return r
}

// TestRecordings writes the scenarios of real incidents. The settings are those of the recording,
// or those in the note beside it.
func TestRecordings(t *testing.T) {
	for _, test := range []struct {
		dir, pod string
		cause    verdict.Cause
		settings string // empty: in the recording
		rules    []string
		misses   int
	}{
		{"event-stream-liveness-10s", "app-target", verdict.LivenessProbe, "",
			[]string{"at: 38m34", "liveness: 500}", "exit: never"}, 0},
		{"minikube-failing-liveness", "failing-liveness-pod", verdict.LivenessProbe,
			"metadata: {name: failing-liveness-pod, namespace: message-container-creating-failed-mount, uid: " +
				"c6e243c6-21c3-4d14-96f6-49f6a5dc3efc}\n" +
				"spec: {containers: [{name: CONTAINER, image: busybox, livenessProbe: {exec: {command: [cat, " +
				"/tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5}}]}",
			[]string{"liveness: fail}", "exit: never"}, 0},
		{"orion-liveness-crashloop", "fiware-orionld-548584cdf-bkfbr", verdict.LivenessProbe,
			"metadata: {name: fiware-orionld-548584cdf-bkfbr, namespace: teste-orion}\n" +
				"spec: {containers: [{name: orion, image: orion, livenessProbe: {httpGet: {path: /version, port: " +
				"1026}, initialDelaySeconds: 10, periodSeconds: 5},\n" +
				"  readinessProbe: {httpGet: {path: /version, port: 1026}, periodSeconds: 5}}]}",
			[]string{"- {liveness: down}", "- {readiness: down}"}, 0},
		{"aks-liveness-http-pcap", "liveness-http", verdict.LivenessProbe, "", []string{"after: 10.5s, liveness: 500"},
			1},
		{"k3s-bundle", "backend-api", verdict.OwnExit, "", []string{"exit: 1}"}, 0},
	} {
		t.Run(test.dir, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join(recordings, test.dir, "*"))
			var files []input.File
			for _, p := range paths {
				if filepath.Ext(p) != ".md" {
					var data []byte
					data, err = os.ReadFile(p)
					files = append(files, input.File{Name: filepath.Base(p), Data: data})
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			v := of(t, incident.Read(files), test.pod, test.cause)
			if test.settings != "" {
				if _, err := Of(context.Background(), incident.Read(files), v); err == nil ||
					!strings.Contains(err.Error(), "the settings are missing") {
					t.Errorf("without settings, the error is %v", err)
				}
				files = append(files, input.File{Name: "pod.yaml",
					Data: []byte("kind: Pod\napiVersion: v1\n" +
						strings.Replace(test.settings, "CONTAINER", v.Container, 1))})
				v = of(t, incident.Read(files), test.pod, test.cause)
			}
			r := written(t, incident.Read(files), v)
			if len(r.Misses) > test.misses {
				t.Errorf("the run misses %q\n%s", r.Misses, r.Text)
			}
			for _, rule := range test.rules {
				if !strings.Contains(string(r.Text), rule) {
					t.Errorf("the scenario has no %q:\n%s", rule, r.Text)
				}
			}
		})
	}
}

const (
	liveness  = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 3}"
	readiness = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 10}"
)

const object = `
kind: Pod
apiVersion: v1
metadata: {name: web, namespace: shop, creationTimestamp: "2024-05-18T21:00:00Z"}
spec: {containers: [{name: app, image: web, PROBES}]}
status: {containerStatuses: [{name: app, ready: true, started: true, restartCount: 1, state: {running: {startedAt: "START"}}, lastState: {terminated: {LAST}}}]}
`

// TestOneLife checks that the dates of one instance are enough, for a pod that has run for days,
// too, and what is missing otherwise.
func TestOneLife(t *testing.T) {
	const dates = `startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-05-18T21:00:52Z"`
	for _, test := range []struct {
		name, probes, start, last, extra string
		cause                            verdict.Cause
		want, err                        string
	}{
		{"memory", readiness, "2024-05-18T21:00:53Z", "reason: OOMKilled, exitCode: 137, " + dates, "",
			verdict.OutOfMemory, "exit: 137}", ""},
		{"days", liveness, "2024-06-18T21:00:03Z",
			`reason: Error, exitCode: 137, startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-06-18T21:00:02Z"`,
			killing, verdict.LivenessProbe, "", "the dates of two kills are missing"},
		{"a day", liveness, "2024-05-19T20:00:03Z",
			`reason: Error, exitCode: 143, startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-05-19T20:00:02Z"`,
			strings.ReplaceAll(killing, "06-18T21", "05-19T20"), verdict.LivenessProbe, "exit: 143}", ""},
		{"no dates", readiness, "2024-06-18T21:00:03Z", "reason: Error, exitCode: 1", "", verdict.OwnExit, "",
			"the dates of two kills are missing"},
		{"an open cause", liveness, "2024-05-18T21:00:53Z", "reason: Error, exitCode: 137, " + dates, "",
			verdict.OwnExit, "", "the cause is open"},
		{"no probe", readiness, "2024-05-18T21:00:53Z", "reason: Error, exitCode: 137, " + dates, "",
			verdict.LivenessProbe, "", "the settings of the liveness probe are missing"},
		{"no template", readiness, "2024-05-18T21:00:53Z", "reason: Error, exitCode: 137, " + dates, "", verdict.Image,
			"", "the cause is image"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.NewReplacer("PROBES", test.probes, "START", test.start, "LAST", test.last).Replace(object) +
				test.extra
			rec := incident.Read([]input.File{{Name: "pod.yaml", Data: []byte(text)}})
			v := verdict.Of(rec).Verdicts[0]
			v.Cause = test.cause
			if test.err != "" {
				if _, err := Of(context.Background(), rec, &v); err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %s", err, test.err)
				}
				return
			}
			if r := written(t, rec, &v); !strings.Contains(string(r.Text), test.want) || len(r.Misses) > 0 {
				t.Errorf("there is no %q, or the run misses %q:\n%s", test.want, r.Misses, r.Text)
			}
		})
	}
}

const killing = `---
kind: Event
metadata: {name: web.1, namespace: shop}
involvedObject: {kind: Pod, name: web, namespace: shop, fieldPath: "spec.containers{app}"}
reason: Killing
message: "Container app failed liveness probe, will be restarted"
firstTimestamp: "2024-06-18T21:00:01Z"
lastTimestamp: "2024-06-18T21:00:01Z"
count: 1
`

func BenchmarkOf(b *testing.B) {
	text := strings.NewReplacer("PROBES", liveness, "START", "2024-05-19T20:00:03Z", "LAST",
		`reason: Error, exitCode: 143, startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-05-19T20:00:02Z"`).
		Replace(object) + strings.ReplaceAll(killing, "06-18T21", "05-19T20")
	rec := incident.Read([]input.File{{Name: "pod.yaml", Data: []byte(text)}})
	v := verdict.Of(rec).Verdicts[0]
	for b.Loop() {
		if _, err := Of(context.Background(), rec, &v); err != nil {
			b.Fatal(err)
		}
	}
}
