package realkubelet

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// runProbe runs a pod with a liveness probe that receives the answer.
func runProbe(t *testing.T, a fakeruntime.Answer) *Result {
	app := v1.Container{LivenessProbe: execProbe(10, 3)}
	return mustRun(t, Options{Duration: 15 * time.Second},
		addAt0(newPod("p", app), program(fakeruntime.Rule{Liveness: answer(a)})))
}

func TestProbeExecuted(t *testing.T) {
	long := strings.Repeat("x", maxOutput+1)
	for _, test := range []struct {
		name    string
		answer  fakeruntime.Answer
		result  trace.Result
		message string
		took    time.Duration
		event   string
	}{
		{"success", fakeruntime.Answer{Word: fakeruntime.Answers, Body: "fine"}, trace.Success, "fine",
			20 * time.Millisecond, ""},
		{"failure", fakeruntime.Answer{Word: fakeruntime.Answers, Code: 3, Body: "no"}, trace.Failure, "no",
			20 * time.Millisecond,
			"Liveness probe failed: no"},
		{"long output", fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1, Body: long}, trace.Failure, long[1:],
			20 * time.Millisecond,
			"Liveness probe failed: " + long[1:]},
		{"timeout", fakeruntime.Answer{Word: fakeruntime.Hangs}, trace.Failure,
			`command timed out: "check it" timed out after 1s`, time.Second,
			`Liveness probe failed: command timed out: "check it" timed out after 1s`},
		// The three attempts are one probe run.
		{"error", fakeruntime.Answer{Word: fakeruntime.Breaks}, trace.Error, "", 60 * time.Millisecond,
			"Liveness probe errored and resulted in unknown state: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := runProbe(t, test.answer)
			runs := recordsOf(r, trace.ProbeExecuted)
			if len(runs) != 1 {
				t.Fatalf("%d probe runs, want 1", len(runs))
			}
			got := runs[0]
			if got.Probe != trace.Liveness || got.Result != test.result || got.Took != test.took ||
				!strings.HasPrefix(got.Message, test.message) {
				t.Errorf("got %+v", got)
			}
			if len(got.Message) > maxOutput {
				t.Errorf("message of %d bytes", len(got.Message))
			}
			event := ""
			for _, e := range recordsOf(r, trace.Event) {
				if e.Reason == "Unhealthy" {
					event = e.Message
				}
			}
			if test.event == "" && event != "" || !strings.HasPrefix(event, test.event) {
				t.Errorf("event %.100q, want %.100q", event, test.event)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	fails := fakeruntime.Rule{Probes: exits(1, "")}
	for _, test := range []struct {
		name string
		app  v1.Container
		want string
	}{
		{"liveness", v1.Container{LivenessProbe: execProbe(3, 1)}, "LivenessProbe"},
		{"startup", v1.Container{StartupProbe: execProbe(3, 1)}, "StartupProbe"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := mustRun(t, Options{Duration: 5 * time.Second}, addAt0(newPod("p", test.app), program(fails)))
			stops := recordsOf(r, trace.ContainerStopping)
			if len(stops) != 1 || stops[0].Reason != test.want || stops[0].GraceSeconds != 30 {
				t.Errorf("got %+v, want one stop because of %s", stops, test.want)
			}
		})
	}
}
