package node_test

import (
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"testing"
	"time"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The default run writes the same records as a run with a chooser that always takes the canonical
// choice and without the shortcuts of the kubelet. The comparison with the real kubelet always uses
// a chooser; this test extends its result to the default run.
func TestDefaultRunIsTheComparedRun(t *testing.T) {
	eachPlan(t, func(plan *scenarios.Plan) error {
		plan.Seed = nil
		return same(hashRun(plan, node.Options{}),
			hashRun(plan, node.Options{Chooser: choose.NewReplay(nil)}.FullLists().EveryTick()))
	})
}

// What the kubelet does on an idle node is hardly an event, with and without a seed.
func TestIdleSecondsAreCheap(t *testing.T) {
	seed := int64(7)
	for _, c := range []struct {
		o    node.Options
		most int64
	}{
		{node.Options{}, 100},
		{node.Options{Seed: &seed}, 100}, // the order of processes matters where they wake up together
	} {
		n := node.New(c.o)
		defer n.Close()
		if err := n.RunUntil(virtual.At(time.Hour)); err != nil {
			t.Fatal(err)
		}
		before := n.Events()
		if err := n.RunUntil(virtual.At(2 * time.Hour)); err != nil {
			t.Fatal(err)
		}
		if events := n.Events() - before; events > c.most { // not 30,000
			t.Errorf("an idle hour takes %d events, not %d at most", events, c.most)
		}
	}
}

// A seeded run that lists only the pods that changed writes the same records as one that lists all
// pods. The test does not use EveryTick, which would renumber the turns of the sync loop and so
// change the draws.
func TestFullListsDoNotChangeSeededRuns(t *testing.T) {
	eachPlan(t, func(plan *scenarios.Plan) error {
		seed := int64(7)
		plan.Seed = &seed
		return same(hashRun(plan, node.Options{}), hashRun(plan, node.Options{}.FullLists()))
	})
}

// same returns an error if two runs differ.
func same(a, b hashed) error {
	if a != b {
		return fmt.Errorf("the runs differ: %+v and %+v", a, b)
	}
	return nil
}

// eachPlan calls check for the first plan of each 20th, or each, of the scenarios of the library
// and of 2000 random scenarios.
func eachPlan(t *testing.T, check func(*scenarios.Plan) error) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // the heap of a run is small, and the runs allocate much
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	step := long.Sample(20, 1)
	for i := 0; i < len(all)+2000; i += step {
		if i < len(all) {
			if err := check(all[i].Plans()[0]); err != nil {
				t.Errorf("%s: %v", all[i].Metadata.Name, err)
			}
			continue
		}
		loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(uint64(i)), nil)
		if err != nil {
			t.Fatalf("random scenario %d: %v", i, err)
		}
		if err := check(loaded[0].Plans()[0]); err != nil {
			t.Errorf("random scenario %d: %v", i, err)
		}
	}
}

// hashed identifies the records of a run.
type hashed struct {
	records int
	sum     uint32
	err     string
}

// hashRun simulates a plan with the chooser and the shortcuts of o and hashes the observable
// records. Internal records can differ in their order within one instant: a tick that the sync loop
// receives changes which process runs next.
func hashRun(plan *scenarios.Plan, o node.Options) hashed {
	var h hashed
	sum, line := crc32.New(crc32.MakeTable(crc32.Castagnoli)), []byte(nil)
	o.Trace = &trace.Recorder{Sink: func(r *trace.Record) {
		h.records++
		line = trace.AppendObserved(line[:0], r)
		sum.Write(line)
	}}
	if err := simulate(plan, o); err != nil {
		h.err = err.Error()
	}
	h.sum = sum.Sum32()
	return h
}
