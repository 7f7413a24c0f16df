package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// TestReplay runs random programs with choices from a seed, and replays only the choices that were
// not canonical. Both runs must log the same notes.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := programs.Draw(t, "program")
		seed := choose.Seeded(rapid.Uint64().Draw(t, "seed"))
		recorder := &choose.Recorder{Of: seed}
		first := start(t, program, sim.Options{Chooser: recorder}).end()
		defer first.Close()

		same := start(t, program, sim.Options{Chooser: seed}).end()
		defer same.Close()
		if diff := cmp.Diff(first.notes, same.notes); diff != "" {
			t.Fatalf("the same seed does not give the same run (-first +second):\n%s", diff)
		}
		again := &choose.Recorder{Of: choose.NewReplay(recorder.Made)}
		replay := start(t, program, sim.Options{Chooser: again}).end()
		defer replay.Close()
		if diff := cmp.Diff(first.notes, replay.notes); diff != "" {
			t.Fatalf("the replay of %v differs (-first +replay):\n%s", recorder.Made, diff)
		}
		if diff := cmp.Diff(recorder.Made, again.Made); diff != "" {
			t.Fatalf("the replay does not make the choices of the first run (-first +replay):\n%s", diff)
		}
	})
}

// The replay of an empty list is the canonical run, and a recorder of such a run records no
// choices.
func TestReplayOfEmptyListIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program := programs.Draw(t, "program")
		canonical := start(t, program, sim.Options{}).end()
		defer canonical.Close()
		recorder := &choose.Recorder{Of: choose.NewReplay(nil)}
		replay := start(t, program, sim.Options{Chooser: recorder}).end()
		defer replay.Close()
		if diff := cmp.Diff(canonical.notes, replay.notes); diff != "" || len(recorder.Made) > 0 {
			t.Errorf("made %v; runs differ (-canonical +replay):\n%s", recorder.Made, diff)
		}
	})
}

// A hundred seeds reach all orders of three processes that start at the same instant.
func TestSeedsReachAllOrders(t *testing.T) {
	orders := map[string]bool{}
	for seed := range choose.Seeded(100) {
		s := sim.New(sim.Options{Chooser: seed})
		order := ""
		for _, name := range []string{"a", "b", "c"} {
			s.Go(name, func(*sim.Proc) { order += name })
		}
		runAndClose(t, s, 0)
		orders[order] = true
	}
	if len(orders) != 6 {
		t.Errorf("100 seeds reach %d orders of 6: %v", len(orders), orders)
	}
}
