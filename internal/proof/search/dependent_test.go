package search_test

import (
	"testing"
	"time"

	"probesim.dev/internal/proof/search"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestFollowFindsDependentChoices checks that Follow finds a choice that comes up only after
// another choice, even if neither choice alone leads further.
func TestFollowFindsDependentChoices(t *testing.T) {
	run := func(c choose.Chooser, clock func(func() virtual.Time), _ virtual.Time, _ bool) ([]trace.Record, error) {
		clock(func() virtual.Time { return virtual.At(time.Second) })
		message := "alone"
		if c.Choose(choose.Choice{Kind: choose.Race, Key: "overtaken"}, 2) == 1 &&
			c.Choose(choose.Choice{Kind: choose.Race, Key: "stopped"}, 3) == 2 {
			message = "stopped"
		}
		return []trace.Record{{T: virtual.At(time.Second), Kind: trace.Event, Message: message}}, nil
	}
	r := search.Follow(search.Options{
		Run: run, Duration: time.Minute,
		Want: []trace.Record{{T: virtual.At(time.Second), Kind: trace.Event, Message: "stopped"}},
	})
	if r.Divergence != nil || len(r.Made) != 2 {
		t.Errorf("made %v: %+v", r.Made, r.Divergence)
	}
}
