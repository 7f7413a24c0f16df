package random

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs
// allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

func load(t *testing.T, seed uint64, data []byte) *scenarios.Scenario {
	t.Helper()
	loaded, err := scenarios.LoadBytes("s.yaml", data, nil)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, data)
	}
	if want := fmt.Sprintf("random-%d", seed); len(loaded) != 1 || loaded[0].Metadata.Name != want {
		t.Fatalf("seed %d: the file does not have exactly one scenario, named %s\n%s", seed, want, data)
	}
	return loaded[0]
}

// TestScenariosLoad checks that the file of every seed loads, differs from the files of other
// seeds, and is always the same.
func TestScenariosLoad(t *testing.T) {
	for o, seeds := range map[Options]uint64{{}: 2000, {Seeds: 3}: 500, {Pods: 60}: 400,
		{Late: true, WithProbeChanges: true}: 200, {Rollouts: true}: 300} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			files := map[string]uint64{}
			for seed := uint64(1); seed <= seeds/uint64(long.Sample(20, 1)); seed++ {
				data := o.Scenario(seed)
				load(t, seed, data)
				if seed%20 == 0 && !bytes.Equal(data, o.Scenario(seed)) {
					t.Errorf("seed %d gives two different files", seed)
				}
				_, body, _ := bytes.Cut(data, []byte("\n")) // the first line names the seed
				if other, twice := files[string(body)]; twice {
					t.Errorf("seeds %d and %d give the same scenario", other, seed)
				}
				files[string(body)] = seed
			}
		})
	}
}

// TestSplitMix64 compares the numbers with the output of the authors' C program.
func TestSplitMix64(t *testing.T) {
	r := rng{1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := r.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// run simulates the first run of a scenario.
func run(t *testing.T, seed uint64, s *scenarios.Scenario) []trace.Record {
	t.Helper()
	plan := s.Plans()[0]
	p, _ := plan.Profile()
	n := node.New(node.Options{Profile: p, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays,
		Config: plan.Config, ControlPlane: plan.ControlPlane()})
	defer n.Close()
	drive.Start(plan, n)
	if err := n.RunUntil(virtual.At(plan.Duration)); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return n.Trace().Records()
}

// TestScenariosRun checks that runs end without an error and are deterministic.
func TestScenariosRun(t *testing.T) {
	for o, seeds := range map[Options]uint64{{}: 100, {Seeds: 2}: 100, {Pods: 60}: 5,
		{Late: true, WithProbeChanges: true}: 50, {Rollouts: true}: 50} {
		for seed := uint64(1); seed <= seeds/uint64(long.Sample(5, 1)); seed++ {
			data := o.Scenario(seed)
			first := trace.Hash(run(t, seed, load(t, seed, data)))
			if again := trace.Hash(run(t, seed, load(t, seed, data))); again != first {
				t.Errorf("two runs of seed %d with %+v differ: %s and %s", seed, o, first, again)
			}
		}
	}
}
