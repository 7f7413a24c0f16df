package bounds_test

import (
	"testing"

	"probesim.dev/bounds"
)

// TestOrders checks bounds that depend on the order of events at one instant. Each end has a witness, whose seed leads to the order.
func TestOrders(t *testing.T) {
	s := subject(t, "v1.37.0", nil, nil, probe(6, 1))
	// In the canonical order, the first sync triggers the probe. If the status comes later, the trigger is wasted.
	atOnce, err := s.UntilReady(nodes, true)
	if got, want := rounded(atOnce), "31ms to 6.041s"; err != nil || got != want {
		t.Errorf("from up at once to ready: %s, want %s; error %v", got, want, err)
	}
	if _, err := s.Witnesses("wasted", atOnce.AtGreatest); err != nil {
		t.Error(err)
	}
	if least, greatest := atOnce.AtLeast.Order(), atOnce.AtGreatest.Order(); least != "" || greatest != "the status is stored after the readiness probe has looked for it" {
		t.Errorf("the orders are %q and %q", least, greatest)
	}

	// A tick of the liveness probe comes with each second tick of the startup probe. If it is first, the probe stops the next instance.
	s = subject(t, "v1.37.0", probe(5, 4), probe(10, 1), nil)
	start, err := s.Start(nodes, bounds.AfterLivenessKill)
	if got, want := rounded(start), "8ms to 25.02s"; err != nil || got != want {
		t.Errorf("the start after a liveness kill: %s, want %s; error %v", got, want, err)
	}
	for _, end := range []bounds.Case{start.AtLeast, start.AtGreatest} {
		if _, err := s.Witnesses("tick", end); err != nil {
			t.Error(err)
		}
	}
}

// The ticks of two probes come in each of their phases only after many periods. So the stop that comes before a start can be at any of them.
func TestStartAfterAnyKill(t *testing.T) {
	s := subject(t, "v1.37.0", probe(10, 1), probe(9, 1), nil)
	s.Probe("startup").InitialDelaySeconds = 9
	b, err := s.Start(nodes, bounds.AfterLivenessKill)
	if got, want := rounded(b), "8ms to 19.02s"; err != nil || got != want {
		t.Errorf("the start after a liveness kill: %s, want %s; error %v", got, want, err)
	}
}
