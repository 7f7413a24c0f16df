package realcontrollers

import (
	"flag"
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/explore"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// follow runs a scenario on the real controllers, searches for the same run of the simulator's, and returns the number of records.
func follow(t *testing.T, s Scenario) (explore.Result, int) {
	t.Helper()
	p, _ := profile.Named(release.Version)
	want, turns, err := Run(t, s, p)
	if err != nil {
		t.Fatal(err)
	}
	want = compared(want)
	r := explore.Follow(explore.Options{
		Want: want, Duration: s.Duration, Log: turns, Budget: *budget,
		Run: func(c choose.Chooser, clock func(func() virtual.Time), until virtual.Time, _ bool) ([]trace.Record, error) {
			records, err := Simulate(s, p, c, clock, until)
			return compared(records), err
		},
	})
	if r.Divergence != nil {
		t.Logf("after %d runs: %s", r.Runs, r.Divergence.Text(want))
	}
	return r, len(want)
}

var (
	first  = flag.Uint64("first", 1, "the first seed of TestRandom")
	budget = flag.Int("budget", 0, "the number of simulated runs to spend on following a run; 0: the default")
	number = flag.Uint64("number", 20, "the number of seeds of TestRandom")
)

// TestRandom compares random scenarios.
func TestRandom(t *testing.T) {
	runs, once := 0, 0
	var different []uint64
	for seed := *first; seed < *first+*number; seed++ {
		r, _ := follow(t, Random(seed))
		runs += r.Runs
		if r.Runs == 1 {
			once++
		}
		if r.Divergence != nil {
			different = append(different, seed)
			t.Errorf("seed %d differs", seed)
		}
	}
	t.Logf("%d of %d scenarios are equal, %d in the first run; %d runs; different: %v", *number-uint64(len(different)), *number, once, runs, different)
}

// compared returns the records that the comparison covers. It leaves out events, which both engines send apart from the rest. Of the syncs that fail it has those of EndpointSlices, one at each instant: they are tried
// again a second later. A ReplicaSet is tried again within milliseconds, so what its syncs do shows when they failed.
func compared(records []trace.Record) []trace.Record {
	var list []trace.Record
	failed := map[string]virtual.Time{}
	for _, r := range records {
		switch r.Kind {
		case trace.Event:
			continue
		case trace.SyncFailed:
			key := r.Reason + " " + r.Object.Name
			if at, again := failed[key]; r.Reason != "endpointslice" || again && at == r.T {
				continue
			}
			failed[key] = r.T
			r.Kind, r.Message, r.Cause = trace.Event, "", 0 // an observable kind
		}
		list = append(list, r)
	}
	return list
}
