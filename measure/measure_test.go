package measure_test

import (
	"fmt"
	"strings"
	"testing"

	"probesim.dev/incident"
	"probesim.dev/measure"
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
	return fmt.Sprintf(`{name: %s, restartCount: %d, ready: true, image: "", imageID: "", state: {running: {startedAt: "2026-05-01T10:%sZ"}}%s}`, name, restarts, at, last)
}

func of(text string, o measure.Options) *measure.Report {
	return measure.Of(incident.Read([]incident.File{{Name: "pods.yaml", Data: []byte(text)}}), o)
}

// TestStarts checks the range of a start, or why it is not known.
func TestStarts(t *testing.T) {
	const app, side = "{name: app, image: i, ", "{name: side, image: i"
	for _, test := range []struct {
		name, text, want, unknown string
	}{
		{"a readiness probe", pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")), "18s..31s", ""},
		{"a startup probe", pod("web-0", app+startup+"}", "00:30", running("app", "00:10", 0, "")), "13s..21s", ""},
		{"up at once", pod("web-0", app+readiness+"}", "00:11", running("app", "00:10", 0, "")), "0s..2s", ""},
		{"a sidecar without probes", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+", "+running("side", "00:09", 0, "")), "18s..31s", ""},
		{"another probe", pod("web-0", app+readiness+"}, "+side+", "+readiness+"}", "00:40", running("app", "00:10", 0, "")+", "+running("side", "00:09", 0, "")), "0s..31s", "other containers of the pod have probes"},
		{"a late container", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+", "+running("side", "00:39", 0, "")), "0s..31s", "started late"},
		{"a restart of another", pod("web-0", app+readiness+"}, "+side+"}", "00:40", running("app", "00:10", 0, "")+", "+running("side", "00:35", 1, "")), "", "started again before"},
		{"a gate", strings.Replace(pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")), "nodeName: n1", "nodeName: n1, readinessGates: [{conditionType: example.com/lb}]", 1), "0s..31s", "readiness gates"},
		{"no probe", pod("web-0", "{name: app, image: i}", "00:40", running("app", "00:10", 0, "")), "", "no startup or readiness probe"},
		{"never Ready", strings.Replace(pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")), `"True"`, `"False"`, 1), "", "never Ready"},
		{"Ready again later", pod("web-0", app+startup+"}", "59:30", running("app", "00:10", 0, "")), "", "it has been not Ready since"},
		{"a restart of the kubelet", pod("web-0", app+readiness+"}", "59:40", running("app", "00:10", 0, "")) + pod("web-1", app+readiness+"}", "59:41", running("app", "30:10", 0, "")), "", "the kubelet has restarted"},
		{"two versions", pod("web-0", app+readiness+"}", "00:40", running("app", "00:10", 0, "")) + pod("web-0", app+readiness+"}", "55:40", running("app", "00:10", 0, "")), "18s..31s", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := of(test.text, measure.Options{}).Workloads[0].Containers[0]
			got, unknown := "", ""
			if c.Start != nil {
				got = c.Start.String()
			}
			if len(c.Unknown) > 0 {
				unknown = c.Unknown[0].Says
			}
			if got != test.want || !strings.Contains(unknown, test.unknown) || test.unknown == "" && unknown != "" {
				t.Errorf("the start is %q, unknown: %q; want %q, %q", got, unknown, test.want, test.unknown)
			}
		})
	}
}

// TestEnds checks how long programs lived and how long they took to stop.
func TestEnds(t *testing.T) {
	const last = `, lastState: {terminated: {exitCode: CODE, reason: Error, startedAt: "2026-05-01T10:00:10Z", finishedAt: "2026-05-01T10:05:FINISHZ"}}`
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
			text := pod("web-0", "{name: app, image: i"+test.spec+"}", "06:40", running("app", "06:10", 1, strings.NewReplacer("CODE", test.code, "FINISH", test.finish).Replace(last))) + killing
			c := of(text, measure.Options{}).Workloads[0].Containers[0]
			got := ""
			if c.Stop != nil {
				got = c.Stop.String()
			}
			if got != test.want || c.Killed != test.killed || c.Kills != 1 || c.Restarts != 1 || len(c.Lives) != 1 {
				t.Errorf("stop %q, %d killed, %d kills, %d restarts, lives %v; want %q, %d", got, c.Killed, c.Kills, c.Restarts, c.Lives, test.want, test.killed)
			}
		})
	}
}

// TestMetrics checks that a pod that only Prometheus knows has a start, and that counters may begin again.
func TestMetrics(t *testing.T) {
	var o measure.Options
	for _, text := range []string{
		`{"status":"success","data":{"result":[{"metric":{"__name__":"kube_pod_container_state_started","namespace":"shop","pod":"web-7","container":"app"},"values":[[1,"1777629610"],[2,"1777629610"]]},
			{"metric":{"__name__":"kube_pod_status_ready_time","namespace":"shop","pod":"web-7"},"value":[1,"1777629640"]}]}}`,
		"prober_probe_total{namespace=\"shop\",pod=\"web-0\",container=\"app\",probe_type=\"Readiness\",result=\"failed\"} 4 1777629610000\n",
		"prober_probe_duration_seconds_bucket{namespace=\"shop\",pod=\"web-0\",container=\"app\",probe_type=\"Readiness\",le=\"0.5\"} 99\n" +
			"prober_probe_duration_seconds_bucket{namespace=\"shop\",pod=\"web-0\",container=\"app\",probe_type=\"Readiness\",le=\"+Inf\"} 100\n",
	} {
		if err := o.Metrics.Read([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	c := of(pod("web-0", "{name: app, image: i, "+readiness+"}", "00:30", running("app", "00:10", 0, "")), o).Workloads[0].Containers[0]
	if len(c.Starts) != 2 || c.Start.String() != "8s..31s" {
		t.Errorf("the starts are %v", c.Starts)
	}
	if p := c.Probes[0]; p.Failures != 4 || p.Within == nil || *p.Within != measure.Seconds(5e8) || p.Timeout != measure.Seconds(1e9) {
		t.Errorf("the probe is %+v", p)
	}
}

// FuzzMetrics checks that no text makes the readers fail in another way than by an error.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("a{b=\"c\"} 1\n"))
	f.Add([]byte(`{"status":"success","data":{"result":[{"metric":{"__name__":"prober_probe_total","pod":"web-0","namespace":"shop","container":"app","probe_type":"Startup"},"values":[[1,"NaN"],[2,"1"]]}]}}`))
	f.Add([]byte(`{"data":{"result":[{"metric":null,"value":[]}]}}`))
	text := pod("web-0", "{name: app, image: i, "+readiness+"}", "00:30", running("app", "00:10", 0, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o measure.Options
		if o.Metrics.Read(data) == nil {
			of(text, o)
		}
	})
}

func BenchmarkTwoHundredPods(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		text.WriteString(pod(fmt.Sprint("web-", i), "{name: app, image: i, "+readiness+", "+startup+"}", "00:30", running("app", "00:10", 0, "")))
	}
	rec := incident.Read([]incident.File{{Name: "pods.yaml", Data: []byte(text.String())}})
	for b.Loop() {
		measure.Of(rec, measure.Options{})
	}
}
