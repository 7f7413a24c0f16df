package reconstruct

import (
	"strings"
	"testing"

	"probesim.dev/incident/cluster"
)

// TestBurst checks that a count of failures is a lower bound if the kubelet drops later warnings: they are soon after the last recorded one.
func TestBurst(t *testing.T) {
	rec := simulated(t, strings.Replace(readiness, "periodSeconds: 10", "periodSeconds: 1", 1), "{at: 31s, for: 60s, readiness: 503}")
	m, err := newModel(rec, rec.Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.claims(cluster.Zero) {
		if strings.HasPrefix(c.Says, "25 times") {
			if !strings.Contains(c.expect, "count: 25.., ") {
				t.Errorf("%s: {%s}", c.Says, c.expect)
			}
			return
		}
	}
	t.Error("no event has 25 failures")
}
