package results

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Set sends the first result and each change. Remove sends no update
// (pkg/kubelet/prober/results/results_manager.go).
func TestOnlyChangesAreSent(t *testing.T) {
	s := sim.New(sim.Options{})
	m := NewManager(s, trace.Readiness, &trace.Recorder{})
	s.Go("worker", func(p *sim.Proc) {
		for i, r := range []Result{Failure, Failure, Success, Success, Failure} {
			p.SetCause(int64(i))
			m.Set(p, Subject{}, Update{ContainerID: "a", PodUID: "uid", Result: r})
		}
		p.SetCause(0)
		m.Set(p, Subject{}, Update{ContainerID: "b", Result: Unknown})
		m.Remove("a")
		p.SetCause(9)
		m.Set(p, Subject{}, Update{ContainerID: "a", Result: Failure})
	})
	var got []string
	s.At(virtual.At(time.Second), "sync loop", func() {
		for u, ok := m.Updates().TryRecv(); ok; u, ok = m.Updates().TryRecv() {
			got = append(got, fmt.Sprintf("%s %v %d", u.ContainerID, u.Result, s.Cause()))
		}
	})
	run(t, s)
	want := []string{"a Failure 0", "a Success 2", "a Failure 4", "b Unknown 0", "a Failure 9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if r, ok := m.Get("a"); r != Failure || !ok || m.Cause("a") != 9 {
		t.Errorf("a has the result %v, %v with cause %d, want Failure, true with cause 9", r, ok, m.Cause("a"))
	}
	if _, ok := m.Get("c"); ok || m.Cause("c") != 0 {
		t.Error("a container without a result has one")
	}
}

// The channel holds 20 updates. A worker with the 21st update has stored its result and blocks
// until the sync loop receives an update (B53 in scenarios/library/bugs).
func TestThe21stUpdateBlocks(t *testing.T) {
	s := sim.New(sim.Options{})
	m := NewManager(s, trace.Readiness, &trace.Recorder{})
	returned := map[string]virtual.Time{}
	for i := range 22 {
		id := fmt.Sprintf("c%02d", i)
		s.At(virtual.Time(i), "start", func() {
			s.Go("worker of "+id, func(p *sim.Proc) {
				m.Set(p, Subject{}, Update{ContainerID: id, Result: Failure})
				returned[id] = p.Now()
			})
		})
	}
	var got []string
	s.At(virtual.At(time.Second), "sync loop", func() {
		if _, stored := m.Get("c21"); len(returned) != 20 || !stored {
			t.Errorf("%d of 22 calls have returned, want 20; the last result is stored: %v, want true", len(returned),
				stored)
		}
		s.Go("sync loop", func(p *sim.Proc) {
			for {
				got = append(got, m.Updates().Recv(p).ContainerID)
				p.Sleep(time.Second)
			}
		})
	})
	run(t, s)
	if returned["c19"] != 19 || returned["c20"] != virtual.At(time.Second) ||
		returned["c21"] != virtual.At(2*time.Second) {
		t.Errorf("calls 20, 21 and 22 returned at %v, %v, %v, want 19ns, 1s, 2s", returned["c19"], returned["c20"],
			returned["c21"])
	}
	if len(got) != 22 || got[0] != "c00" || got[21] != "c21" {
		t.Errorf("updates in another order than sent: %v", got)
	}
}

// interrupt interrupts processes at every preemption point.
type interrupt struct{ choose.Chooser }

func (interrupt) Choose(choose.Choice, int) int { return 1 }
func (interrupt) Next([]choose.Choice) int      { return 0 }

// A sync of the pod can run after a worker stores a result and before it sends the update: the sync
// then reads a result that the sync loop does not know yet.
func TestResultIsStoredBeforeItIsSent(t *testing.T) {
	for _, c := range []struct {
		chooser choose.Chooser
		want    string
	}{
		{nil, "sent, seen"},
		{interrupt{}, "seen, sent"},
	} {
		s := sim.New(sim.Options{Chooser: c.chooser})
		m := NewManager(s, trace.Liveness, &trace.Recorder{})
		var got []string
		s.Go("worker", func(p *sim.Proc) {
			s.Go("pod worker", func(*sim.Proc) {
				if r, ok := m.Get("a"); ok && r == Failure {
					got = append(got, "seen")
				}
			})
			m.Set(p, Subject{}, Update{ContainerID: "a", Result: Failure})
			got = append(got, "sent")
		})
		run(t, s)
		if strings.Join(got, ", ") != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

// With internal records, a change of a result has a record, and the record is the cause of the
// update.
func TestChangesHaveRecords(t *testing.T) {
	s := sim.New(sim.Options{})
	recorder := &trace.Recorder{Internal: true}
	m := NewManager(s, trace.Startup, recorder)
	s.Go("worker", func(p *sim.Proc) {
		p.SetCause(7)
		m.Set(p, Subject{}, Update{ContainerID: "a", Result: Success})
		m.Set(p, Subject{}, Update{ContainerID: "a", Result: Success})
	})
	run(t, s)
	want := []trace.Record{{
		Step: 1, Kind: trace.ResultChanged, Cause: 7, Probe: trace.Startup, Reason: "a", Message: "Success",
	}}
	if diff := cmp.Diff(want, recorder.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if m.Cause("a") != 1 {
		t.Errorf("the cause is %d, want 1, the step of the record", m.Cause("a"))
	}
}

func run(t *testing.T, s *sim.Sim) {
	t.Helper()
	defer s.Close()
	if err := s.RunUntil(virtual.At(time.Hour)); err != nil {
		t.Error(err)
	}
}
