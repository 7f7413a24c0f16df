package command

import (
	"testing"
	"time"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/scenarios"
)

// TestNodes checks that the log of a run of the real kubelet shows its order well enough to follow
// many pods in a few runs, including the times at which they are synced.
func TestNodes(t *testing.T) {
	switch {
	case !realkubelet.Overlay:
		t.Skip("without the overlay, the order depends on the load of the machine")
	case release.Version < "v1.36":
		t.Skip("the log of older releases does not reach the comparison")
	}
	for _, kind := range nodeKinds {
		p, err := firstPlan(nodeScenario(kind, 12, 2*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		o, err := compare.Plan(t, p, compare.Options{Budget: nodesBudget})
		switch {
		case err != nil:
			t.Errorf("%s: %v", kind, err)
		case !o.Equal():
			t.Errorf("%s differs:\n%s", kind, o.Text())
		case o.OnlyRecords:
			t.Errorf("%s: the times of syncs differ", kind)
		}
	}
}

// TestNodeScenarios checks that the scenario of each kind of node is valid, with pods that all come
// at once.
func TestNodeScenarios(t *testing.T) {
	for _, kind := range nodeKinds {
		all, err := scenarios.LoadBytes("node.yaml", nodeScenario(kind, 3, time.Minute), nil)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d scenarios, %v", kind, len(all), err)
		}
		for _, p := range all[0].Plans()[0].Pods() {
			if p.At != 0 {
				t.Errorf("%s: pod %s comes at %v", kind, p.Pod.Name, p.At)
			}
		}
	}
}
