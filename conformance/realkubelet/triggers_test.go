package realkubelet

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// TestTriggers checks the triggers of a readiness worker whose container is not ready: each status
// of the pod triggers a probe. The first probe follows the start of the container. Each later
// probe, without a trigger, follows one period after the previous one.
func TestTriggers(t *testing.T) {
	app := v1.Container{ReadinessProbe: execProbe(20, 3)}
	r := mustRun(t, Options{Duration: 50 * time.Second, Triggers: true},
		addAt0(newPod("p", app), program(fakeruntime.Rule{})))
	taken, probed := recordsOf(r, trace.TriggerTaken), recordsOf(r, trace.ProbeExecuted)
	if len(taken) == 0 || len(probed) != 3 {
		t.Fatalf("%d triggers taken, %d probes made\n%s", len(taken), len(probed), jsonl(r.Records))
	}
	last := taken[len(taken)-1]
	if last.Pod != "default/p" || last.Container != "app" || last.Probe != trace.Readiness {
		t.Errorf("last trigger: %+v", last)
	}
	for i, p := range probed {
		if want := last.T.Add(20 * time.Second * time.Duration(i)); p.T.Add(-p.Took) != want {
			t.Errorf("probe %d began at %v, want %v", i, p.T.Add(-p.Took), want)
		}
	}
	if r := mustRun(t, Options{Duration: 50 * time.Second},
		addAt0(newPod("p", app), program(fakeruntime.Rule{}))); len(recordsOf(r, trace.TriggerTaken)) != 0 {
		t.Error("got TriggerTaken records without Options.Triggers")
	}
}
