package realkubelet

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// A readiness worker whose container is not ready is asked to probe with each status of the pod: the first probe comes
// with the start of the container, and of those that follow each is a period later, if nobody asks.
func TestTriggers(t *testing.T) {
	app := v1.Container{ReadinessProbe: execProbe(20, 3)}
	r := mustRun(t, Options{Duration: 50 * time.Second, Triggers: true}, addAt0(newPod("p", app), program(fakeruntime.Rule{})))
	taken, probed := of(r, trace.TriggerTaken), of(r, trace.ProbeExecuted)
	if len(taken) == 0 || len(probed) != 3 {
		t.Fatalf("%d triggers taken, %d probes made\n%s", len(taken), len(probed), jsonl(r.Records))
	}
	last := taken[len(taken)-1]
	if last.Pod != "default/p" || last.Container != "app" || last.Probe != trace.Readiness {
		t.Errorf("who took it: %+v", last)
	}
	for i, p := range probed {
		if want := last.T.Add(20 * time.Second * time.Duration(i)); p.T.Add(-p.Took) != want {
			t.Errorf("probe %d began at %v, want %v", i, p.T.Add(-p.Took), want)
		}
	}
	if r := mustRun(t, Options{Duration: 50 * time.Second}, addAt0(newPod("p", app), program(fakeruntime.Rule{}))); len(of(r, trace.TriggerTaken)) != 0 {
		t.Error("triggers are noted that nobody wanted")
	}
}
