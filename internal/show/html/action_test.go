package html

import (
	"testing"
	"time"

	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A hook, an image pull and a wait for volumes have lanes, with a bar for each action and a mark at
// its end.
func TestActionLanes(t *testing.T) {
	at := func(s int) virtual.Time { return virtual.At(time.Duration(s) * time.Second) }
	c := chartOf(t, write(t, &report.Run{Scenario: "s", Kubernetes: "v1.37", Until: at(20), Records: []trace.Record{
		{Step: 1, Kind: trace.PodAdded, Pod: "p"},
		{Step: 2, T: at(3), Kind: trace.VolumeWaitEnded, Pod: "p", Reason: "mount", Result: trace.Success,
			Took: 2 * time.Second},
		{Step: 3, T: at(4), Kind: trace.ImagePullStarted, Pod: "p", Container: "c", Message: "c:1"},
		{Step: 4, T: at(6), Kind: trace.ImagePullEnded, Pod: "p", Container: "c", Result: trace.Failure,
			Took: 2 * time.Second},
		{Step: 5, T: at(8), Kind: trace.HookStarted, Pod: "p", Container: "c", Reason: "postStart"},
	}}))
	want := map[string]struct {
		bar   report.Bar
		marks int
	}{
		"volumes": {report.Bar{From: at(1), To: at(3), State: "busy", Text: "mount", Step: 2}, 1},
		"pull":    {report.Bar{From: at(4), To: at(6), State: "busy", Text: "pull", Step: 4}, 1},
		"hooks":   {report.Bar{From: at(8), To: at(20), State: "busy", Text: "postStart", Step: 5}, 0},
	}
	for _, l := range c.Lanes {
		if w, ok := want[l.Label]; ok {
			if len(l.Bars) != 1 || l.Bars[0] != w.bar || len(l.Steps) != w.marks {
				t.Errorf("the lane %s has the bars %+v and %d marks", l.Label, l.Bars, len(l.Steps))
			}
			delete(want, l.Label)
		}
	}
	if len(want) > 0 {
		t.Errorf("these lanes are missing: %v", want)
	}
}
