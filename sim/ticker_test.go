package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
)

// TestTickerDropsTicks has a receiver that is busy for a while after each tick. One tick waits for it;
// those in between are dropped; the next ones come at the same beat as ever.
func TestTickerDropsTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := time.Duration(rapid.IntRange(1, 5).Draw(t, "period")) * time.Second
		busy := rapid.SliceOfN(rapid.IntRange(0, 12000), 1, 20).Draw(t, "busy ms")
		s := sim.New(sim.Options{})
		ticker := s.NewTicker("ticker", period)
		s.Go("p", func(p *sim.Proc) {
			next := period // the first tick that was not dropped and not received
			for _, ms := range busy {
				before := p.Now()
				ticker.C.Recv(p)
				if want := max(before, next); p.Now() != want {
					t.Errorf("tick received at %v, want %v", p.Now(), want)
				}
				// A tick that comes while one waits is dropped: the next one is the first after now.
				next = (p.Now()/period + 1) * period
				p.Sleep(time.Duration(ms) * time.Millisecond)
			}
		})
		if err := s.RunUntil(time.Hour); err != nil {
			t.Fatal(err)
		}
		s.Close()
	})
}

// A period of 1 s and probes that take 3.5 s: one tick waits, and there is no burst to catch up.
func TestTickerDoesNotCatchUp(t *testing.T) {
	var got []time.Duration
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
	run1(t, s, time.Minute)
	if want := "[0s 3.5s 7s 10.5s 11s]"; fmt.Sprint(got) != want {
		t.Errorf("ticks at %v, want %v", got, want)
	}
}

// Reset starts a new period and drops a tick that waits, as Go's tickers do since 1.23; Stop ends it.
func TestTickerReset(t *testing.T) {
	var got []string
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", 10*time.Second)
	s.Go("p", func(p *sim.Proc) {
		tick := func() { ticker.C.Recv(p); got = append(got, fmt.Sprint(p.Now())) }
		tick()
		p.Sleep(4 * time.Second)
		ticker.Reset(10 * time.Second) // at 14 s: not at 20 s but at 24 s
		tick()
		p.Sleep(13 * time.Second) // the tick of 34 s waits
		ticker.Reset(5 * time.Second)
		got = append(got, fmt.Sprint("waiting ", ticker.C.Len()))
		tick()
		tick()
		ticker.Stop()
		tick()
	})
	run1(t, s, time.Hour)
	if diff := cmp.Diff([]string{"10s", "24s", "waiting 0", "42s", "47s"}, got); diff != "" {
		t.Errorf("ticks (-want +got):\n%s", diff)
	}
}

// A tick and a reset at one instant: whoever runs before the timer takes the tick away.
func TestTickerResetAtTheTick(t *testing.T) {
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	s.At(time.Second, "too late", func() { ticker.Reset(time.Second) })
	s.At(2*time.Second, "early", func() {}) // the tick of 2 s is set after this
	var got []time.Duration
	s.Go("p", func(p *sim.Proc) {
		for {
			ticker.C.Recv(p)
			got = append(got, p.Now())
		}
	})
	run1(t, s, 1500*time.Millisecond)
	if fmt.Sprint(got) != "[1s]" {
		t.Errorf("ticks at %v, want one at 1s, which was handed over before the reset", got)
	}
}

// Unless spares only ticks that would be received at once; one that has to wait is kept, because nobody
// knows what will be when it is received.
func TestTickerUnless(t *testing.T) {
	var got []time.Duration
	idle, asked := true, 0
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	ticker.Unless(func() bool { asked++; return idle })
	s.At(2500*time.Millisecond, "something to do", func() { idle = false })
	s.At(3500*time.Millisecond, "nothing to do", func() { idle = true })
	s.Go("p", func(p *sim.Proc) {
		ticker.C.Recv(p) // 1 s and 2 s are spared
		got = append(got, p.Now())
		p.Sleep(2500 * time.Millisecond) // the tick of 4 s waits
		ticker.C.Recv(p)
		got = append(got, p.Now())
		ticker.C.Recv(p) // idle for ever
	})
	run1(t, s, 10*time.Second)
	if fmt.Sprint(got) != "[3s 5.5s]" {
		t.Errorf("ticks at %v, want [3s 5.5s]", got)
	}
	if asked != 3+5 {
		t.Errorf("asked %d times, want at 1, 2, 3 s and from 6 to 10 s, when the receiver waits", asked)
	}
}
