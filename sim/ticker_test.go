package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// TestTickerDropsTicks receives ticks with a receiver that is busy for a random time after each
// tick. One tick waits for the receiver, further ticks are dropped, and later ticks keep the phase.
func TestTickerDropsTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := time.Duration(rapid.IntRange(1, 5).Draw(t, "period")) * time.Second
		busy := rapid.SliceOfN(rapid.IntRange(0, 12000), 1, 20).Draw(t, "busy ms")
		s := sim.New(sim.Options{})
		ticker := s.NewTicker("ticker", period)
		s.Go("p", func(p *sim.Proc) {
			next := virtual.At(period) // the first tick that is neither dropped nor received
			for _, ms := range busy {
				before := p.Now()
				ticker.C.Recv(p)
				if want := max(before, next); p.Now() != want {
					t.Errorf("tick received at %v, want %v", p.Now(), want)
				}
				next = virtual.At(p.Now().Offset().Truncate(period)).Add(period) // earlier ticks are dropped
				p.Sleep(time.Duration(ms) * time.Millisecond)
			}
		})
		if err := s.RunUntil(virtual.At(time.Hour)); err != nil {
			t.Fatal(err)
		}
		s.Close()
	})
}

// With a period of 1 s and a receiver that is busy for 3.5 s, only one tick waits: there is no
// burst of missed ticks.
func TestTickerDoesNotCatchUp(t *testing.T) {
	var got []virtual.Time
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	s.Go("p", func(p *sim.Proc) {
		for range 3 {
			got = append(got, p.Now())
			p.Sleep(3500 * time.Millisecond)
			ticker.C.Recv(p)
		}
		p.Sleep(0)
		got = append(got, p.Now())
		ticker.C.Recv(p)
		got = append(got, p.Now())
	})
	runAndClose(t, s, time.Minute)
	if want := "[0s 3.5s 7s 10.5s 11s]"; fmt.Sprint(got) != want {
		t.Errorf("ticks at %v, want %v", got, want)
	}
}

// Reset starts a new period and drops a waiting tick, like Go's tickers since Go 1.23. Stop ends
// the ticks.
func TestTickerResetAndStop(t *testing.T) {
	var got []string
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", 10*time.Second)
	s.Go("p", func(p *sim.Proc) {
		tick := func() { ticker.C.Recv(p); got = append(got, fmt.Sprint(p.Now())) }
		tick()
		p.Sleep(4 * time.Second)
		ticker.Reset(10 * time.Second) // at 14 s: the next tick moves from 20 s to 24 s
		tick()
		p.Sleep(13 * time.Second) // the tick of 34 s waits
		ticker.Reset(5 * time.Second)
		got = append(got, fmt.Sprint("waiting ", ticker.C.Len()))
		tick()
		tick()
		ticker.Stop()
		tick()
	})
	runAndClose(t, s, time.Hour)
	if diff := cmp.Diff([]string{"10s", "24s", "waiting 0", "42s", "47s"}, got); diff != "" {
		t.Errorf("ticks (-want +got):\n%s", diff)
	}
}

// A reset at the instant of a tick comes too late: the ticker's timer was set first and has sent
// the tick.
func TestTickerResetAtTheTick(t *testing.T) {
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	s.At(virtual.At(time.Second), "too late", func() { ticker.Reset(time.Second) })

	var got []virtual.Time
	s.Go("p", func(p *sim.Proc) {
		for {
			ticker.C.Recv(p)
			got = append(got, p.Now())
		}
	})
	runAndClose(t, s, 1500*time.Millisecond)
	if fmt.Sprint(got) != "[1s]" {
		t.Errorf("ticks at %v, want one at 1s, received before the reset", got)
	}
}

// SkipIf skips only ticks that would be received immediately. A tick that has to wait is kept,
// because the receiver may have work by the time it receives the tick.
func TestTickerUnless(t *testing.T) {
	var got []virtual.Time
	idle, asked := true, 0
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	ticker.SkipIf(func() bool { asked++; return idle })
	s.At(virtual.At(2500*time.Millisecond), "something to do", func() { idle = false })
	s.At(virtual.At(3500*time.Millisecond), "nothing to do", func() { idle = true })
	s.Go("p", func(p *sim.Proc) {
		ticker.C.Recv(p) // the ticks of 1 s and 2 s are skipped
		got = append(got, p.Now())
		p.Sleep(2500 * time.Millisecond) // the tick of 4 s waits
		ticker.C.Recv(p)
		got = append(got, p.Now())
		ticker.C.Recv(p) // all further ticks are skipped
	})
	runAndClose(t, s, 10*time.Second)
	if fmt.Sprint(got) != "[3s 5.5s]" {
		t.Errorf("ticks at %v, want [3s 5.5s]", got)
	}
	if asked != 3+5 {
		t.Errorf("asked %d times, want at 1, 2, 3 s and from 6 to 10 s, when the receiver waits", asked)
	}
}
