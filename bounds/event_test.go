package bounds_test

import (
	"testing"

	"probesim.dev/bounds"
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
