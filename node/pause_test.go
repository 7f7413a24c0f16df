package node_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Pause makes RunUntil return at the instant of the record that an observer has seen, before the
// next event. A run with pauses writes the same records as one without.
func TestPause(t *testing.T) {
	const end = 5 * time.Minute
	run := func(seed *int64, pauses bool) []trace.Record {
		n := node.New(node.Options{Seed: seed})
		defer n.Close()
		n.Pause() // has no effect outside RunUntil
		var seen *trace.Record
		n.Observe(func(r *trace.Record) {
			if pauses && seen == nil && r.Kind == trace.ProbeExecuted {
				copied := *r
				seen = &copied
				n.Pause()
			}
		})
		n.At(0, func() {
			pod, program := healthy(0, 10)
			if err := n.AddPod(pod, program); err != nil {
				t.Error(err)
			}
		})
		paused := 0
		for {
			if err := n.RunUntil(virtual.At(end)); err != nil {
				t.Fatal(err)
			}
			if seen == nil {
				break
			}
			paused++
			if n.Now() != seen.T || n.Trace().Records()[len(n.Trace().Records())-1].T != seen.T {
				t.Errorf("paused at %v, want %v, the time of the record", n.Now(), seen.T)
			}
			seen = nil
		}
		if n.Now() != virtual.At(end) || pauses != (paused > 20) {
			t.Errorf("%d pauses until %v", paused, n.Now())
		}
		return n.Trace().Records()
	}
	seed := int64(3)
	for _, s := range []*int64{nil, &seed} {
		if diff := cmp.Diff(run(s, false), run(s, true)); diff != "" {
			t.Errorf("pauses change the records (-without +with):\n%s", diff)
		}
	}
}

// A function of At can pause too.
func TestPauseFromAt(t *testing.T) {
	n := node.New(node.Options{})
	defer n.Close()
	n.At(virtual.At(time.Second), n.Pause)
	n.At(virtual.At(2*time.Second), func() {
		if n.AddPod(web(), fakeruntime.Pod{}) == nil {
			n.Pause()
		}
	})
	for _, want := range []time.Duration{time.Second, 2 * time.Second, time.Minute} {
		if err := n.RunUntil(virtual.At(time.Minute)); err != nil || n.Now() != virtual.At(want) {
			t.Errorf("paused at %v, want %v; %v", n.Now(), want, err)
		}
	}
}
