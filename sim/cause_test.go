package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// A cause travels with started processes and sent values, and survives waiting.
func TestCauseTravels(t *testing.T) {
	s := sim.New(sim.Options{})
	c := sim.NewChan[string](s, "c", 1)
	ticker := s.NewTicker("ticker", 10*time.Second)
	var got []string
	note := func(what string) { got = append(got, fmt.Sprintf("%s %d", what, s.Cause())) }
	s.Go("receiver", func(p *sim.Proc) {
		p.SetCause(99)
		cases := []sim.Case{
			sim.On(c, func(p *sim.Proc, v string) { note(v); p.Sleep(time.Second) }),
			sim.OnTick(ticker, func(*sim.Proc) { note("tick") }),
		}
		for {
			p.Select(cases...)
		}
	})
	s.Go("sender", func(p *sim.Proc) {
		p.SetCause(1)
		p.Sleep(time.Nanosecond)
		note("sender after its sleep")
		s.Go("child", func(*sim.Proc) { note("child") })
		c.Send(p, "handed over")
		p.SetCause(2)
		c.Send(p, "buffered")
		p.WithCause(3, func() { c.Send(p, "sent by a blocked sender") })
		note("sender after WithCause")
	})
	s.At(virtual.At(5*time.Second), "callback", func() { note("callback") })
	runAndClose(t, s, 10*time.Second)
	want := []string{
		"sender after its sleep 1", "handed over 1", "child 1", "buffered 2", "sender after WithCause 2",
		"sent by a blocked sender 3", "callback 0", "tick 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}
