package bounds_test

import (
	"testing"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
)

// TestStaysReadyUntilAKill checks the limit of a stall if the liveness probe can stop the container before the readiness probe fails often
// enough. The readiness probe fails because of the exit then, but it is the stop that decides.
func TestStaysReadyUntilAKill(t *testing.T) {
	readiness := probe(1, 4)
	readiness.TimeoutSeconds, readiness.SuccessThreshold = 3, 3
	b, err := subject(t, "v1.33.13", nil, probe(2, 1), readiness).StaysReady(nodes, bounds.Stall)
	if got, want := rounded(b), "991ms to 2.991s"; err != nil || got != want {
		t.Errorf("a stall without a change of readiness: %s, want %s; error %v", got, want, err)
	}
	readiness = probe(2, 5)
	readiness.TimeoutSeconds = 4
	b, err = subject(t, "v1.36.3", nil, probe(4, 2), readiness).StaysReady(nodes, bounds.Stall)
	if got, want := rounded(b), "4.991s to 8.991s"; err != nil || got != want {
		t.Errorf("a stall without a change of readiness: %s, want %s; error %v", got, want, err)
	}

	// A run that has begun during a hang fails after it, and after the readiness probe.
	liveness := probe(1, 2)
	liveness.TimeoutSeconds = 3
	b, err = subject(t, "v1.33.13", nil, liveness, probe(2, 3)).StaysReady(nodes, bounds.Hang)
	if got, want := rounded(b), "3s to 4s"; err != nil || got != want {
		t.Errorf("a hang without a change of readiness: %s, want %s; error %v", got, want, err)
	}
}

// TestStaysReadyInEachPhase checks the greatest limit of a run if both probes can decide. The sync that follows the success of the startup probe at 6 s
// begins the period of the readiness probe again. The sync waits for up to a relist. So a readiness run comes up to 3 s and some lists after
// every second liveness run, and the greatest limit begins just after the next liveness run. The derived limit holds for all phases of the
// probes against each other.
func TestStaysReadyInEachPhase(t *testing.T) {
	typical, _ := fakeruntime.DelaySet("typical")
	b, err := subject(t, "v1.33.13", probe(6, 4), probe(4, 2), probe(8, 1)).StaysReady(bounds.Nodes{Delays: typical}, bounds.Refuse)
	if shown := b.GreatestShown(); err != nil || shown < 7*time.Second || shown > 7500*time.Millisecond || !b.GreatestDerived || b.Greatest > 8*time.Second {
		t.Errorf("down without a change of readiness for at most %v in a run, want 7s and some lists; for at most %v, want 8s; error %v", shown, b.Greatest, err)
	}
}
