package results

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Set never waits. The channel has room for 20 updates; of the others, the manager keeps the newest
// of each container, and sends them as the sync loop receives. An update of a result that has
// changed again, or was removed, is not current.
func TestMutableResults(t *testing.T) {
	s := sim.New(sim.Options{})
	m := NewMutableManager(s, trace.Readiness, &trace.Recorder{})
	s.Go("workers", func(p *sim.Proc) {
		set := func(i int, r Result, probe int64) {
			m.Set(p, Subject{}, Update{ContainerID: fmt.Sprintf("c%02d", i), Result: r, ProbeID: probe})
		}
		for i := range 23 {
			set(i, Failure, 1)
		}
		set(0, Success, 1)
		set(1, Failure, 1) // as before
		set(2, Failure, 2) // of a probe that was added again
		set(21, Success, 1)
		m.Remove("c03")
		m.Remove("c22")
	})
	var current, old []string
	s.At(virtual.At(time.Second), "sync loop", func() {
		s.Go("sync loop", func(p *sim.Proc) {
			for {
				u := m.Updates().Recv(p)
				line := fmt.Sprint(u.ContainerID, " ", u.Result, " ", u.ProbeID)
				if m.IsCurrent(p, u) {
					current = append(current, line)
				} else {
					old = append(old, line)
				}
			}
		})
	})
	run(t, s)
	if want := []string{"c00 Failure 1", "c02 Failure 1", "c03 Failure 1"}; !slices.Equal(old, want) {
		t.Errorf("not current: %v, want %v", old, want)
	}
	if n := len(current); n != 21 ||
		!slices.Equal(current[n-4:], []string{"c20 Failure 1", "c00 Success 1", "c02 Failure 2", "c21 Success 1"}) {
		t.Errorf("%d are current, %v; want 21, at last c20, c00, c02 and c21", n, current)
	}
}

// Without mutable probes, each update counts.
func TestEachUpdateIsCurrent(t *testing.T) {
	m := NewManager(sim.New(sim.Options{}), trace.Readiness, &trace.Recorder{})
	if !m.IsCurrent(nil, Update{ContainerID: "a"}) {
		t.Error("an update without a result is not current")
	}
}
