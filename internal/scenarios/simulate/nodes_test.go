package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// conformancePods are pods of four conformance tests (test/e2e/common/node/container_probe.go of
// kubernetes v1.21 to v1.24), on a node of the set typical.
//
// Until v1.24, the kubelet began the ticks of the probes before it mounted the volumes of a pod
// (https://github.com/kubernetes/kubernetes/issues/105014). The sandboxes here take 0.3 to 0.6 s
// longer than in the set, in place of the mounts. Later kubelets also probe for readiness when they
// see the container run, and count the period from there. The pod ready has a liveness probe
// instead, whose ticks are those that a readiness probe had.
const conformancePods = `
apiVersion: v1
kind: Pod
metadata: {name: exec}
spec: {containers: [{name: c, image: "agnhost:2.32", livenessProbe: {exec: {command: [cat, /tmp/health]}, initialDelaySeconds: 15, timeoutSeconds: 5, failureThreshold: 1}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: http}
spec: {containers: [{name: c, image: "agnhost:2.32", livenessProbe: {httpGet: {path: /healthz, port: 8080}, initialDelaySeconds: 15, failureThreshold: 1}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: mono}
spec: {containers: [{name: c, image: "agnhost:2.32", livenessProbe: {httpGet: {path: /healthz, port: 8080}, initialDelaySeconds: 5, failureThreshold: 1}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: ready}
spec: {containers: [{name: c, image: "agnhost:2.32", livenessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 15}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: ScenarioList
items:
- metadata: {name: exec}
  spec:
    duration: 2m
    kubelet: {uptime: 150s..210s}
    delays: {set: typical, runPodSandbox: SANDBOX}
    pods: [{name: exec, at: 100ms..300ms, containers: [{name: c, behavior: [{after: 10s, liveness: fail}, {afterSigterm: 0s, exit: never}]}]}]
- metadata: {name: http}
  spec:
    duration: 2m
    kubelet: {uptime: 150s..210s}
    delays: {set: typical, runPodSandbox: SANDBOX}
    pods: [{name: http, at: 100ms..300ms, containers: [{name: c, behavior: [{after: 10s, liveness: 500}]}]}]
- metadata: {name: mono}
  spec:
    duration: 4m
    kubelet: {uptime: 150s..210s}
    delays: {set: typical, runPodSandbox: SANDBOX}
    pods: [{name: mono, at: 100ms..300ms, containers: [{name: c, behavior: [{after: 10s, liveness: 500}]}]}]
- metadata: {name: ready}
  spec:
    duration: 1m
    kubelet: {uptime: 150s..210s}
    delays: {set: typical, runPodSandbox: SANDBOX}
    pods: [{name: ready, at: 100ms..300ms, containers: [{name: c}]}]
`

// recorded are the times of 307 clusters of v1.21 to v1.24, in seconds: quantiles of what the
// conformance tests of the pods above wrote to the e2e.log files of
// https://github.com/cncf/k8s-conformance (Apache-2.0). exec1, http1 and mono1 to mono5 are the
// times from the first look at the running pod to the look that found the restart; there is a look
// every 2 s. ready is the time from the start of the container to its readiness, where both are cut
// to seconds.
var recorded = []struct {
	name         string
	p5, p50, p95 float64
}{
	{"exec1", 48.13, 50.18, 50.46}, {"http1", 18.06, 20.07, 20.20},
	{"mono1", 18.04, 20.07, 20.20}, {"mono2", 38.09, 40.14, 40.38}, {"mono3", 58.14, 60.21, 60.57},
	{"mono4", 78.15, 80.26, 80.73}, {"mono5", 138.55, 144.88, 152.98},
	{"ready", 17, 19, 20},
}

// TestTypicalNodesCoverRealClusters checks that the delays of typical nodes give restart and
// readiness times that cover those of real clusters. Nine of ten clusters lie between the
// quantiles; the clients of the tests add up to 0.3 s.
func TestTypicalNodesCoverRealClusters(t *testing.T) {
	const nodes, tolerance = 100, 0.3
	for _, version := range []string{"v1.34", "v1.37"} {
		times := typicalNodes(t, version, nodes)
		for _, real := range recorded {
			v := times[real.name]
			t.Logf("%s %s: %.2f s, median %.2f s, to %.2f s; real clusters %v", version, real.name, v[0], v[nodes/2],
				v[nodes-1], real)
			if v[0] > real.p5+tolerance || v[nodes-1] < real.p95-tolerance {
				t.Errorf("%s: %s takes %.2f s to %.2f s; real clusters took %.2f s to %.2f s", version, real.name, v[0],
					v[nodes-1], real.p5, real.p95)
			}
		}
		// The back-off can delay the fourth restart, since the previous container ended 20 s
		// before, its length. It did in four of the 307 clusters: StopContainer usually returns
		// late enough.
		late := 0
		for _, seconds := range times["mono4"] {
			if seconds > 90 {
				late++
			}
		}
		if late > nodes/10 {
			t.Errorf("%s: the back-off delays the fourth restart of %d of %d nodes", version, late, nodes)
		}
	}
}

// typicalNodes returns what the conformance tests report of the pods on this number of typical
// nodes, sorted, by the name of the time.
func typicalNodes(t *testing.T, version string, nodes int) map[string][]float64 {
	t.Helper()
	set, _ := fakeruntime.DelaySet("typical")
	sandbox := fmt.Sprintf("%s..%s", set.RunPodSandbox.Min+300*time.Millisecond, set.RunPodSandbox.Max+
		600*time.Millisecond)
	all, err := scenarios.LoadBytes("s.yaml", []byte(strings.ReplaceAll(conformancePods, "SANDBOX", sandbox)), nil)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string][]float64{}
	for seed := range int64(nodes) {
		for _, s := range all {
			r := Run(context.Background(), s.Plan(version, &seed), Options{})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			for name, seconds := range observe(s.Metadata.Name, &seed, r.Records) {
				times[name] = append(times[name], seconds)
			}
		}
	}
	for _, real := range recorded {
		if len(times[real.name]) != nodes {
			t.Fatalf("%s: %d of %d nodes have a time for %s", version, len(times[real.name]), nodes, real.name)
		}
		slices.Sort(times[real.name])
	}
	return times
}

// observe returns what a conformance test reports of a run, in seconds: the times of the restarts
// since the pod was first seen running, or the time between the start of the container and the
// readiness of the pod.
func observe(test string, seed *int64, records []trace.Record) map[string]float64 {
	if test == "ready" {
		fraction := virtual.At(fakeruntime.Draw{Max: time.Second}.Drawn(seed, "fraction", 0))
		var started, ready virtual.Time
		for _, r := range records {
			switch {
			case r.Kind == trace.ContainerStarted:
				started = r.T
			case r.Kind == trace.ProbeExecuted && r.Result == trace.Success && ready == 0:
				ready = r.T
			}
		}
		seconds := func(t virtual.Time) int64 { return int64(t+fraction) / int64(time.Second) }
		return map[string]float64{"ready": float64(seconds(ready) - seconds(started))}
	}
	get := 2*time.Second + fakeruntime.Draw{Min: time.Millisecond, Max: 40 * time.Millisecond}.Drawn(seed, "get", 0)
	status := func(at virtual.Time) trace.PodStatus {
		var s trace.PodStatus
		for _, r := range records {
			if r.Kind == trace.StatusPatched && r.T <= at {
				s = *r.Status
			}
		}
		return s
	}
	start := virtual.Time(0)
	for status(start).Phase != "Running" {
		start = start.Add(2 * time.Second)
	}
	times := map[string]float64{}
	last := int32(0)
	for at := start; at < records[len(records)-1].T.Add(2*time.Second); at = at.Add(get) {
		if s := status(at); s.Containers[0].RestartCount > last {
			last = s.Containers[0].RestartCount
			times[fmt.Sprint(test, last)] = at.Sub(start).Seconds()
		}
	}
	return times
}
