package sim_test

import (
	"slices"
	"testing"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// End ends the processes, timers and tickers of a group, whatever they wait for. Everything outside
// the group continues.
func TestGroupEnds(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	var log []string
	say := func(what string) { log = append(log, s.Now().String()+" "+what) }
	var g sim.Group
	s.In(&g, func() {
		ticker := s.NewTicker("ticker", time.Second)
		s.Go("parent", func(p *sim.Proc) {
			defer say("parent ends")
			s.Go("child", func(p *sim.Proc) {
				defer say("child ends")
				s.At(virtual.At(4*time.Second), "outlives", func() { say("call of At") })
				p.Park()
			})
			for {
				ticker.C.Recv(p)
				say("tick")
			}
		})
		s.Set(s.NewTimer("timer", func() { say("timer") }), virtual.At(5*time.Second))
		s.Go("sleeper", func(p *sim.Proc) {
			p.Sleep(time.Hour)
			say("slept")
		})
	})
	s.Go("other", func(p *sim.Proc) {
		for range 2 {
			p.Sleep(3 * time.Second)
			say("other")
		}
	})
	s.At(virtual.At(2500*time.Millisecond), "end", func() { s.End(&g) })
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want := []string{"1s tick", "2s tick", "2.5s parent ends", "2.5s child ends", "3s other", "4s call of At",
		"6s other"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// Enabled processes and due timers of a group do not run after the group has ended at the same
// instant.
func TestGroupEndsEnabledProcesses(t *testing.T) {
	for _, chooser := range []choose.Chooser{nil, reversed{}} {
		s := sim.New(sim.Options{Chooser: chooser})
		ran := 0
		var g sim.Group
		s.In(&g, func() {
			for range 3 {
				s.Go("woken", func(p *sim.Proc) {
					p.Sleep(time.Second)
					p.YieldToAll()
					ran++
				})
			}
			s.Set(s.NewTimer("timer", func() {}), virtual.At(time.Second))
		})
		s.At(virtual.At(time.Second), "end", func() { s.End(&g) })
		if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if ran != 0 {
			t.Errorf("%d processes ran after their end", ran)
		}
		s.Close()
	}
}

// Processes and timers that deferred calls start, wake or set in an ending group have no effect. A
// later wake-up of an ended process has no effect either.
func TestGroupEndsWithItsDeferredCalls(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	ran := 0
	count := func(*sim.Proc) { ran++ }
	var g sim.Group
	var parked *sim.Proc
	s.In(&g, func() {
		timer := s.NewTimer("timer", func() { ran++ })
		parked = s.Go("parked", func(p *sim.Proc) {
			p.Park()
			ran++
		})
		s.Go("deferring", func(p *sim.Proc) {
			defer func() {
				s.Go("started", count)
				parked.Wake()
				s.Set(timer, s.Now())
			}()
			p.Park()
		})
	})
	s.At(virtual.At(time.Second), "end", func() { s.End(&g) })
	s.At(virtual.At(2*time.Second), "wake-up", func() { parked.Wake() })
	s.At(virtual.At(3*time.Second), "start", func() { s.Go("other", count) })
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if ran != 1 {
		t.Errorf("%d functions ran, want 1: the process outside the group", ran)
	}
}

// reversed always takes the last alternative.
type reversed struct{}

func (reversed) Choose(_ choose.Choice, n int) int   { return n - 1 }
func (reversed) Next(candidates []choose.Choice) int { return len(candidates) - 1 }
func (reversed) Fraction(choose.Choice) float64      { return 0.5 }
