package history

import (
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A preStop hook that the kubelet no longer waits for can overlap the next one, and a pull may not
// end during the run. A wait for volumes has only the record of its end.
func TestActions(t *testing.T) {
	at := func(s int) virtual.Time { return virtual.At(time.Duration(s) * time.Second) }
	hook := func(s int, kind trace.Kind, result trace.Result, took int) trace.Record {
		return trace.Record{T: at(s), Kind: kind, Pod: "p", Container: "c", Reason: "preStop", Result: result,
			Took: time.Duration(took) * time.Second}
	}
	h := Read([]trace.Record{
		{T: at(3), Kind: trace.VolumeWaitEnded, Pod: "p", Reason: "mount", Result: trace.Success,
			Took: 2 * time.Second},
		{T: at(4), Kind: trace.ImagePullStarted, Pod: "p", Container: "c", Message: "c:1"},
		hook(10, trace.HookStarted, "", 0),
		hook(12, trace.HookStarted, "", 0),
		hook(15, trace.HookEnded, trace.Failure, 5),
		hook(18, trace.HookEnded, trace.Success, 6),
	}, at(20))
	p := h.Pods[0]
	c := p.Containers[0]
	for _, got := range []struct {
		name     string
		action   Action
		what     string
		from, to int
		failed   bool
	}{
		{"the wait", p.Waits[0], "mount", 1, 3, false},
		{"the pull", c.Pulls[0], "pull", 4, 20, false},
		{"the first hook", c.Hooks[0], "preStop", 10, 15, true},
		{"the second hook", c.Hooks[1], "preStop", 12, 18, false},
	} {
		a := got.action
		if a.What != got.what || a.From != at(got.from) || a.Until(h.End) != at(got.to) || a.Failed() != got.failed ||
			a.Record() == nil {
			t.Errorf("%s is %+v", got.name, a)
		}
	}
	if len(p.Waits) != 1 || len(c.Pulls) != 1 || len(c.Hooks) != 2 || !Lasts(c.Pulls, h.End) || Lasts(c.Pulls, at(4)) {
		t.Errorf("the actions are %+v %+v %+v", p.Waits, c.Pulls, c.Hooks)
	}
}

// After a restart of the kubelet, the instance of a changed static pod starts while that of the old
// manifest still runs.
func TestInstancesThatOverlap(t *testing.T) {
	at := func(s int) virtual.Time { return virtual.At(time.Duration(s) * time.Second) }
	life := func(s int, kind trace.Kind) trace.Record {
		return trace.Record{T: at(s), Kind: kind, Pod: "p", Container: "c"}
	}
	h := Read([]trace.Record{
		{Kind: trace.PodAdded, Pod: "p"},
		life(1, trace.ContainerStarted), life(5, trace.ContainerStarted),
		{T: at(6), Kind: trace.Event, Pod: "p", Container: "c", Reason: "Killing"},
		life(7, trace.ContainerStopping), life(8, trace.ContainerExited),
	}, at(20))
	c := h.Pods[0].Containers[0]
	if len(c.Runs) != 2 || c.Runs[0].Exited != at(8) || c.Runs[1].Exited != Forever {
		t.Fatalf("the instances are %+v", c.Runs)
	}
	got := c.Life(h.Pods[0], h.End)
	if len(got) != 2 || got[0].From != at(1) || got[0].To != at(5) || got[1].From != at(5) || got[1].To != at(20) {
		t.Errorf("the states are %+v", got)
	}
}
