package command

import (
	"errors"
	"testing"
	"time"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/scenarios"
)

// TestNodes checks that the log of a run of the real kubelet shows its order well enough to follow many pods in a few runs,
// including the times at which they are synced. Go interrupts a goroutine after 10 ms of wall time, between any two lines of the log. On a
// busy machine this is frequent, so a run that is not followed must be followed when repeated.
func TestNodes(t *testing.T) {
	if release.Version < "v1.36" {
		t.Skip("the log of older releases does not reach the comparison")
	}
	for _, kind := range nodeKinds {
		first := followNode(t, kind)
		if first == nil {
			continue
		}
		if again := followNode(t, kind); again != nil {
			t.Errorf("%s: failed twice; the second time: %v", kind, again)
		} else {
			t.Logf("%s: failed in the first of two runs: %v", kind, first)
		}
	}
}

// followNode compares one run of a node, and returns an error if the records or the times of syncs differ.
func followNode(t *testing.T, kind string) error {
	o, err := compareNode(t, kind, 12, 2*time.Minute, compare.Options{Budget: nodesBudget})
	switch {
	case err != nil:
		return err
	case !o.Equal():
		return errors.New(o.Text())
	case o.OnlyRecords:
		return errors.New("the times of syncs differ")
	}
	return nil
}

// TestNodeScenarios checks that the scenario of each kind of node is valid, with pods that all come at once.
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
