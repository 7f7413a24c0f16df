package play

import (
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// slow is a program that is not ready at once, and that its liveness probe kills.
const slow = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web:1
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 2}
    livenessProbe: {exec: {command: [live]}, periodSeconds: 5, failureThreshold: 2}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 1m
  pods:
  - name: web
    containers: [{name: app, behavior: [{for: 4s..6s, readiness: down}, {after: 20s, liveness: fail}]}]
`

// simulated returns the records of runs with seeds.
func simulated(t *testing.T, runs int) (all [][]trace.Record) {
	t.Helper()
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(slow), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range runs {
		r := simulate.Run(t.Context(), loaded[0].Plan("v1.37", new(int64(seed+1))), simulate.Options{})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		all = append(all, r.Records)
	}
	return all
}

// TestCompare compares changed traces with the runs from which they come.
func TestCompare(t *testing.T) {
	runs := simulated(t, 20)
	isReady := func(r *trace.Record) bool { return r.Kind == trace.StatusPatched && r.Status.Ready }
	for _, test := range []struct {
		name   string
		change func([]trace.Record) []trace.Record
		want   string
	}{
		{"equal", func(r []trace.Record) []trace.Record { return r },
			"order and kinds equal a simulated run; 19 of 19 times within what 20 runs show"},
		{"Ready is later", func(r []trace.Record) []trace.Record {
			for i := range r {
				if isReady(&r[i]) {
					r[i].T = r[i].T.Add(3 * time.Second)
				}
			}
			return r
		}, "order and kinds equal a simulated run; 17 of 19 times within what 20 runs show; web: Ready 1: 1.99s " +
			"later, at 9.50s; simulated at 4.50s to 7.51s"},
		{"no exit", func(r []trace.Record) []trace.Record {
			return slices.DeleteFunc(r, func(r trace.Record) bool { return r.Kind == trace.ContainerExited })
		}, "order and kinds equal no simulated run; 18 of 19 times within what 20 runs show; web: app 0 exits with " +
			"143: never; simulated at 30.13s to 30.13s"},
		{"a hook", func(r []trace.Record) []trace.Record {
			return append(r, trace.Record{T: virtual.At(7 * time.Second), Kind: trace.HookStarted, Pod: "default/web",
				Container: "app", Reason: "preStop"})
		}, "order and kinds equal no simulated run; 19 of 20 times within what 20 runs show; web: app 0 HookStarted " +
			"preStop: at 7.00s; never in a simulated run"},
		{"an order", func(r []trace.Record) []trace.Record {
			for i := range r {
				if r[i].Kind == trace.ContainerStopping && r[i].Instance == 0 {
					r[i].T = virtual.At(100 * time.Millisecond)
				}
			}
			return r
		}, "order and kinds equal no simulated run; 18 of 19 times within what 20 runs show; web: app 0 " +
			"ContainerStopping: 29.93s earlier, at 0.10s; simulated at 30.03s to 30.03s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compare(test.change(slices.Clone(runs[3])), virtual.At(time.Minute), runs)
			if got := c.String(); got != test.want {
				t.Errorf("the answer is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestFit checks the ranges of the delays, and their text.
func TestFit(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	n := Node{}
	for _, took := range []struct {
		delay string
		time  time.Duration
	}{{"runPodSandbox", ms(90)}, {"createContainer", ms(12)}, {"runPodSandbox", ms(140)},
		{"createContainer", ms(7) + 1}, {"startContainer", -1}} {
		n.add(took.delay, took.time)
	}
	if got := n.String(); got != "{runPodSandbox: 90ms..140ms, createContainer: 7ms..12ms}" {
		t.Errorf("the delays are %s", got)
	}
	if d := n.Delays(); d.StartContainer != nil || d.RunPodSandbox.Max != ms(140) || *d.VolumeMount != *d.ImagePull {
		t.Errorf("the delays are %+v", d)
	}
	sandbox := n["runPodSandbox"]
	n.merge(Node{"startContainer": fakeruntime.Exactly(ms(50)), "createContainer": fakeruntime.Exactly(ms(30))})
	if n["startContainer"].Min != ms(50) || n["createContainer"].Max != ms(30) || n["runPodSandbox"] != sandbox {
		t.Errorf("the merged delays are %s", n)
	}
}

// TestBusyMachine checks that a late player is no difference: the first probe is refused, and times
// are later by as much.
func TestBusyMachine(t *testing.T) {
	runs := simulated(t, 5)
	late := 300 * time.Millisecond
	var real []trace.Record
	for _, r := range runs[2] {
		if r.Kind == trace.ContainerStarted {
			r.Took = late
		}
		if r.Kind == trace.ContainerExited {
			r.T = r.T.Add(late)
		}
		if real = append(real, r); r.Kind == trace.ContainerStarted {
			real = append(real, trace.Record{T: r.T.Add(late / 2), Kind: trace.Event, Pod: r.Pod,
				Container: r.Container, Reason: "Unhealthy",
				Message: "Liveness probe failed: connect: connection refused"})
		}
	}
	want := "order and kinds equal a simulated run; 19 of 19 times within what 5 runs show, give or take 0.30s of a " +
		"late start"
	if got := compare(real, virtual.At(time.Minute), runs).String(); got != want {
		t.Errorf("the answer is\n%s\nwant\n%s", got, want)
	}
}

// TestWithProbes checks that events tell of the probe runs that no player sees.
func TestWithProbes(t *testing.T) {
	at := func(ms int, r trace.Record) trace.Record {
		r.T, r.Step = virtual.At(time.Duration(ms)*time.Millisecond), int64(ms)
		r.Pod, r.Container = "default/web", "app"
		return r
	}
	unhealthy := func(message string) trace.Record {
		return trace.Record{Kind: trace.Event, Type: "Warning", Reason: "Unhealthy", Message: message}
	}
	failed := trace.Record{Kind: trace.ProbeExecuted, Probe: trace.Readiness, Result: trace.Failure, Message: "x"}
	records := withProbes([]trace.Record{
		at(1000, failed), at(1010, unhealthy("Readiness probe failed: busy")),
		at(3000, unhealthy("Readiness probe failed: dial tcp: connection refused")),
		at(5000, unhealthy("Liveness probe errored and resulted in unknown state: no exec")),
		at(6000, trace.Record{Kind: trace.Event, Reason: "Killing"}),
	})
	var got []string
	for _, r := range records {
		if r.Kind == trace.ProbeExecuted {
			got = append(got, strings.Join([]string{r.T.String(), string(r.Probe), string(r.Result), r.Message}, " "))
		}
	}
	want := []string{"1s readiness failure busy", "2.999999999s readiness failure dial tcp: connection refused",
		"4.999999999s liveness error no exec"}
	if !slices.Equal(got, want) {
		t.Errorf("the probe runs are %q, want %q", got, want)
	}
}

// TestRepeatedEvents checks that only the first of many equal events are milestones.
func TestRepeatedEvents(t *testing.T) {
	var records []trace.Record
	for i := range 30 {
		records = append(records, trace.Record{T: virtual.At(time.Duration(i) * time.Second), Kind: trace.Event,
			Pod: "default/web", Container: "app", Reason: "Unhealthy", Message: "Liveness probe failed: x"})
	}
	m := milestones(records, 0)
	if len(m) != maxRepeated || !strings.HasSuffix(m[0].key, "event Unhealthy Liveness 1") {
		t.Errorf("there are %d milestones, the first %s", len(m), m[0].key)
	}
}
