package node_test

import (
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"
	"testing"

	"probesim.dev/internal/random"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// randomScenarios is the number of random scenarios that TestChooserDoesNotChangeTheRun simulates.
const randomScenarios = 2000

// A run without a chooser and a run whose chooser always takes the canonical choice write the same records, internal
// ones included. The comparison with the real kubelet always has a chooser, so this test extends its result to the
// default run.
func TestChooserDoesNotChangeTheRun(t *testing.T) {
	eachPlan(t, func(plan *scenarios.Plan) error {
		plan.Seed = nil
		without, with := hashRun(plan, node.Options{}), hashRun(plan, node.Options{Chooser: choose.NewReplay(nil)})
		if without != with {
			return fmt.Errorf("%d records with hash %x without a chooser, %d records with hash %x with one",
				without.records, without.sum, with.records, with.sum)
		}
		return nil
	})
}

// eachPlan calls check for the first plan of every scenario of the library and of randomScenarios random scenarios,
// in parallel.
func eachPlan(t *testing.T, check func(*scenarios.Plan) error) {
	t.Helper()
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var next sync.Mutex
	seed, index := uint64(0), 0
	take := func() (*scenarios.Scenario, error) {
		next.Lock()
		if index < len(all) {
			defer next.Unlock()
			index++
			return all[index-1], nil
		}
		seed++
		mine := seed
		next.Unlock()
		if mine > randomScenarios {
			return nil, nil
		}
		loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(mine), nil)
		if err != nil {
			return nil, fmt.Errorf("random scenario %d: %w", mine, err)
		}
		return loaded[0], nil
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				s, err := take()
				if err != nil {
					t.Error(err)
				}
				if s == nil {
					return
				}
				plan := s.Plans()[0]
				if err := check(plan); err != nil {
					t.Errorf("%s: %v", s.Metadata.Name, err)
				}
			}
		})
	}
	workers.Wait()
}

// hashed identifies the records of a run.
type hashed struct {
	records int
	sum     uint32
	err     string
}

// hashRun simulates a plan with the chooser of o and hashes all records, internal ones included.
func hashRun(plan *scenarios.Plan, o node.Options) hashed {
	var h hashed
	sum, line := crc32.New(crc32.MakeTable(crc32.Castagnoli)), []byte(nil)
	o.Profile, _ = plan.Profile()
	o.Uptime, o.Seed, o.Delays, o.Config = &plan.Uptime, plan.Seed, plan.Delays, plan.Config
	o.Trace = &trace.Recorder{Internal: true, Sink: func(r *trace.Record) {
		h.records++
		line = trace.AppendJSON(line[:0], r)
		sum.Write(line)
	}}
	n := node.New(o)
	defer n.Close()
	plan.Drive(n)
	if err := n.RunUntil(plan.Duration); err != nil {
		h.err = err.Error()
	}
	h.sum = sum.Sum32()
	return h
}
