package sim_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
)

// A run that exceeds a limit stops with an error that names the limit and the busiest process or
// timer.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits limit.Limits
		build  func(*sim.Sim)
		want   string
	}{
		{"events", limit.Limits{Events: 100}, func(s *sim.Sim) {
			s.Go("slow", func(p *sim.Proc) { every(p, 10*time.Second) })
			s.Go("fast", func(p *sim.Proc) { every(p, time.Second) })
		}, `stopped at 46s: more than 100 events; "fast" ran 46 times`},
		{"processes at one instant", limit.Limits{AtOneInstant: 100}, func(s *sim.Sim) {
			s.Go("quiet", func(p *sim.Proc) { every(p, time.Second) })
			var a, b *sim.Proc
			a = s.Go("ping", func(p *sim.Proc) {
				for p.Sleep(3 * time.Second); ; p.Park() {
					b.Wake()
				}
			})
			b = s.Go("pong", func(p *sim.Proc) {
				for {
					p.Park()
					a.Wake()
				}
			})
		}, `stopped at 3s: more than 100 events at one instant; "ping" ran 50 times`},
		{"a timer that sets itself", limit.Limits{AtOneInstant: 100}, func(s *sim.Sim) {
			var timer *sim.Timer
			timer = s.NewTimer("runtime", func() { s.Set(timer, s.Now()) })
			s.Set(timer, virtual.At(time.Second))
		}, `stopped at 1s: more than 100 events at one instant; "runtime" ran 100 times`},
		{"callbacks that schedule callbacks", limit.Limits{AtOneInstant: 100}, func(s *sim.Sim) {
			var again func()
			again = func() { s.At(s.Now(), "scenario", again) }
			again()
		}, `stopped at 0s: more than 100 events at one instant; "scenario" ran 101 times`},
		{"processes", limit.Limits{Processes: 10}, func(s *sim.Sim) {
			s.Go("parent", func(p *sim.Proc) {
				for i := range 100 {
					s.Go(fmt.Sprint("child ", i), (*sim.Proc).Park)
					p.Sleep(time.Second)
				}
			})
		}, `stopped at 9s: more than 10 processes; "parent" ran 10 times`},
		{"virtual time", limit.Limits{Time: virtual.At(time.Minute)}, func(s *sim.Sim) {
			s.Go("clock", func(p *sim.Proc) { every(p, 25*time.Second) })
		}, `stopped at 50s: the limit of virtual time is 1m0s; "clock" ran 3 times`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sim.New(sim.Options{Limits: c.limits})
			defer s.Close()
			c.build(s)
			err := s.RunUntil(virtual.At(time.Hour))
			if limit := (*limit.Error)(nil); !errors.As(err, &limit) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if again := s.RunUntil(virtual.At(2 * time.Hour)); again != err {
				t.Errorf("a second RunUntil returns another error: %v", again)
			}
		})
	}
}

func every(p *sim.Proc, d time.Duration) {
	for {
		p.Sleep(d)
	}
}

// A run may reach its limits; only exceeding one stops the run.
func TestLimitsAreInclusive(t *testing.T) {
	s := sim.New(sim.Options{Limits: limit.Limits{Events: 5, Processes: 1, AtOneInstant: 2}})
	s.Go("p", func(p *sim.Proc) {
		p.Sleep(time.Second)
		p.Sleep(time.Second)
	})
	runAndClose(t, s, time.Hour)
	if s.Events() != 5 { // the start, two timers, two wake-ups
		t.Errorf("%d events, want 5", s.Events())
	}
}

// Close ends all waiting processes and runs their deferred calls, whatever they wait for. A process
// that has not run yet never runs. A deferred call that waits unwinds too.
func TestCloseEndsAllProcesses(t *testing.T) {
	s := sim.New(sim.Options{})
	full, empty := sim.NewChan[int](s, "full", 1), sim.NewChan[int](s, "empty", 1)
	full.TrySend(1)
	var got []string
	for _, w := range []struct {
		name string
		wait func(*sim.Proc)
	}{
		{"sleeps", func(p *sim.Proc) { p.Sleep(time.Hour) }},
		{"parks", (*sim.Proc).Park},
		{"sends", func(p *sim.Proc) { full.Send(p, 2) }},
		{"selects", func(p *sim.Proc) { p.Select(sim.On(empty, func(*sim.Proc, int) {})) }},
	} {
		s.Go(w.name, func(p *sim.Proc) {
			defer func() {
				got = append(got, w.name)
				p.Sleep(time.Second) // unwinds too
				t.Errorf("%s goes on after Close", w.name)
			}()
			w.wait(p)
			t.Errorf("%s: the wait returns", w.name)
		})
	}
	if err := s.RunUntil(virtual.At(time.Second)); err != nil {
		t.Fatal(err)
	}
	s.Go("never runs", func(*sim.Proc) { t.Error("a process runs after Close") })
	s.Close()
	s.Close()
	if diff := cmp.Diff([]string{"sleeps", "parks", "sends", "selects"}, got); diff != "" {
		t.Errorf("unwound (-want +got):\n%s", diff)
	}
}

// A panic in a process propagates to the caller of RunUntil.
func TestPanicReachesTheCaller(t *testing.T) {
	s := sim.New(sim.Options{})
	s.Go("p", func(p *sim.Proc) {
		p.Sleep(time.Second)
		panic("broken")
	})
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v, want broken", got)
		}
	}()
	s.RunUntil(virtual.At(time.Minute))
}

// A run ends with the error of Interrupt within 1,024 events, and with the error of Fail after the
// present event.
func TestInterruptAndFail(t *testing.T) {
	stop := errors.New("stop")
	var now error
	s := sim.New(sim.Options{Interrupt: func() error { return now }})
	defer s.Close()
	turns := 0
	s.Go("busy", func(p *sim.Proc) {
		for ; ; p.Sleep(time.Millisecond) {
			turns++
		}
	})
	s.At(virtual.At(time.Second), "interrupt", func() { now = stop })
	if err := s.RunUntil(virtual.At(time.Hour)); err != stop || turns < 1000 || turns > 2100 {
		t.Errorf("interrupted: %d turns, error %v", turns, err)
	}

	failed := sim.New(sim.Options{})
	defer failed.Close()
	turns = 0
	failed.Go("busy", func(p *sim.Proc) {
		for ; ; p.Sleep(time.Millisecond) {
			if turns++; turns == 100 {
				failed.Fail(stop)
				failed.Fail(errors.New("another error"))
			}
		}
	})
	if err := failed.RunUntil(virtual.At(time.Hour)); err != stop || turns != 100 {
		t.Errorf("failed: %d turns, error %v", turns, err)
	}
}
