package realcontrollers

import (
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/internal/proof/search"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// follow runs a scenario on the real controllers, searches for the same run of the simulator's, and
// returns the number of records.
func follow(t *testing.T, s Scenario) (search.Result, int) {
	t.Helper()
	p, _ := profile.Named(release.Version)
	want, turns, err := Run(t, s, p)
	if err != nil {
		t.Fatal(err)
	}
	want = compared(want)
	r := search.Follow(search.Options{
		Want: want, Duration: s.Duration, Log: turns, Budget: 20,
		Run: func(c choose.Chooser, clock func(func() virtual.Time), until virtual.Time, _ bool) ([]trace.Record,
			error) {
			records, err := Simulate(s, p, c, clock, until)
			return compared(records), err
		},
	})
	if r.Divergence != nil {
		t.Logf("after %d runs: %s", r.Runs, r.Divergence.Text(want))
	}
	return r, len(want)
}

// compared returns the records that the comparison covers. It leaves out events, which both engines
// send apart from the rest. Of the syncs that fail it has those of EndpointSlices, one at each
// instant: they are tried again a second later. A ReplicaSet is tried again within milliseconds, so
// what its syncs do shows when they failed.
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
