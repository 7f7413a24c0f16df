package sim_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// anyChooser draws a chooser: nil for the canonical choices, or a seed.
var anyChooser = rapid.Custom(func(t *rapid.T) choose.Chooser {
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed, 0 for none")
	if seed == 0 {
		return nil
	}
	return choose.Seeded(seed)
})

// TestNoWakeUpIsLostOrDoubled runs random programs. While a program runs, run.receive checks each
// received value and its time. After the last event, every process must be done or wait for a
// channel that is empty or full.
func TestNoWakeUpIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := start(t, programs.Draw(t, "program"), sim.Options{Chooser: anyChooser.Draw(t, "chooser")}).end()
		defer r.Close()
		for i, w := range r.waits {
			switch {
			case r.done[i]:
			case w == nil:
				t.Errorf("process %d never ran", i)
			case w.Kind == "recv" || w.Kind == "select":
				r.checkAllReceived(i, w.Chans)
			case w.Kind != "send":
				t.Errorf("process %d never returns from %s", i, w.Kind)
			}
		}
		for c := range r.messages {
			r.checkSends(c)
		}
		if t.Failed() {
			t.Log("\n" + r.text())
		}
	})
}

// checkAllReceived checks that the channels of a process that waits to receive are empty.
func (r *run) checkAllReceived(proc int, chans []int) {
	for _, c := range chans {
		if n := len(r.messages[c]) - r.taken[c]; n > 0 {
			r.t.Errorf("process %d waits for channel %d, which holds %d values", proc, c, n)
		}
	}
}

// checkSends checks that each Send returned as soon as the buffer had room: immediately, or when
// the receiver took the value that was sent as many values earlier as the capacity.
func (r *run) checkSends(c int) {
	for i, m := range r.messages[c] {
		if !m.blocks {
			continue
		}
		var before *message
		if i >= r.Caps[c] {
			before = r.messages[c][i-r.Caps[c]]
		}
		switch {
		case before == nil:
			r.same("send into an empty channel returns at", m.returned, m.sent)
		case before.received:
			r.same("blocked send returns at", m.returned, max(m.sent, before.receivedAt))
		case m.returned != 0:
			r.t.Errorf("send of %d to channel %d returned at %v, before the channel had room", m.value, c, m.returned)
		}
	}
}

// As in Go, a value that is sent while the receiver waits goes directly to the receiver and takes
// no room in the buffer.
func TestHandOffTakesNoRoom(t *testing.T) {
	s := sim.New(sim.Options{})
	c := sim.NewChan[int](s, "c", 1)
	var got []int
	s.Go("receiver", func(p *sim.Proc) {
		for range 2 {
			got = append(got, c.Recv(p))
		}
	})
	s.Go("sender", func(p *sim.Proc) {
		for i, want := range []bool{true, true, false} { // handed over, buffered, no room
			if sent := c.TrySend(i); sent != want {
				t.Errorf("TrySend number %d: %v, want %v", i, sent, want)
			}
		}
	})
	runAndClose(t, s, time.Second)
	if len(got) != 2 || got[0] != 0 || got[1] != 1 {
		t.Errorf("got %v, want [0 1]", got)
	}
}

func TestTwoReceiversPanic(t *testing.T) {
	s := sim.New(sim.Options{})
	c := sim.NewChan[int](s, "updates", 1)
	s.Go("first", func(p *sim.Proc) { c.Recv(p) })
	s.Go("second", func(p *sim.Proc) { c.Recv(p) })
	defer func() {
		if got, want := recover(), "sim: second and first both receive from updates"; got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
		s.Close()
	}()
	s.RunUntil(virtual.At(time.Second))
}

// runAndClose runs a simulation for a span from t=0 and closes it.
func runAndClose(t testing.TB, s *sim.Sim, until time.Duration) {
	t.Helper()
	defer s.Close()
	if err := s.RunUntil(virtual.At(until)); err != nil {
		t.Error(err)
	}
}
