package sim_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
)

// idler is a timer that sometimes has work. Its firings without work last for a while, in which a
// number of calls return.
type idler struct {
	Period, Lasts time.Duration
	Calls         int
	Busy          []virtual.Time // when it gets work
}

// ends appends the times at which the calls of a firing return.
func (i *idler) ends(ends []virtual.Time, at virtual.Time) []virtual.Time {
	for call := range i.Calls {
		ends = append(ends, at.Add(i.Lasts*time.Duration(call+1)/time.Duration(i.Calls)))
	}
	return ends
}

// other is a timer that fires once.
type other struct {
	At   virtual.Time
	Name string
}

// With fast-forwards and without, timers fire at the same times and in the same order, apart from
// idle firings at one instant. Only idle timers fire during the work of a firing that the kernel
// skips.
func TestFastForward(t *testing.T) {
	few, plain := int64(0), int64(0)
	rapid.Check(t, func(t *rapid.T) {
		at := func(label string, longest int) time.Duration {
			return time.Duration(rapid.IntRange(1, longest).Draw(t, label)) * 250 * time.Millisecond
		}
		var idlers []idler
		for range rapid.IntRange(1, 3).Draw(t, "idle timers") {
			i := idler{Period: at("period", 12), Calls: rapid.IntRange(0, 2).Draw(t, "calls")}
			i.Lasts = time.Duration(i.Calls*rapid.IntRange(1, 30).
				Draw(t, "tens of ms of a call")) * 10 * time.Millisecond
			for range rapid.IntRange(0, 3).Draw(t, "work") {
				i.Busy = append(i.Busy, virtual.At(at("work at", 400)))
			}
			idlers = append(idlers, i)
		}
		var others []other
		for i := range rapid.IntRange(0, 5).Draw(t, "others") {
			others = append(others, other{virtual.At(at("at", 400)), fmt.Sprint("other ", i)})
		}
		var chooser choose.Chooser
		if rapid.Bool().Draw(t, "seeded") {
			chooser = choose.Seeded(rapid.Uint64().Draw(t, "seed"))
		}
		with, events := in100s(t, idlers, others, chooser, true)
		without, all := in100s(t, idlers, others, chooser, false)
		if diff := cmp.Diff(without, with); diff != "" {
			t.Fatalf("with fast-forwards (-without +with):\n%s", diff)
		}
		few, plain = few+events, plain+all
	})
	if few > plain/2 {
		t.Errorf("fast-forwards leave %d of %d events", few, plain)
	}
}

// in100s returns what happens in 100 s, and the number of events.
func in100s(t *rapid.T, idlers []idler, others []other, chooser choose.Chooser, fastForward bool) (notes []string,
	events int64) {
	s := sim.New(sim.Options{Chooser: chooser})
	defer s.Close()
	end := virtual.Min // of the work that was skipped
	note := func(at virtual.Time, what string) {
		if at <= end {
			t.Fatalf("%s at %v, during work that ends at %v", what, at, end)
		}
		notes = append(notes, fmt.Sprint(at, " ", what))
	}
	idle := make([]int, len(idlers))
	var last virtual.Time // of the idle firings that are in no note yet
	tell := func(at virtual.Time, what string) {
		note(at, fmt.Sprint(what, " after ", idle))
	}
	for i, c := range idlers {
		busy := false
		var timer *sim.Timer
		works := s.NewTimer(fmt.Sprint("end of work of ", i), func() { s.Set(timer, s.Now().Add(c.Period)) })
		timer = s.NewTimer(fmt.Sprint("idle ", i), func() {
			if busy {
				busy = false
				tell(s.Now(), fmt.Sprint("work of ", i))
				s.Set(timer, s.Now().Add(c.Period))
				return
			}
			idle[i]++
			last = s.Now()
			if c.Calls == 0 {
				s.Set(timer, last.Add(c.Period))
				return
			}
			s.Set(works, last.Add(c.Lasts))
		})
		s.Set(timer, virtual.At(c.Period))
		for _, at := range c.Busy {
			s.At(at, fmt.Sprint("work for ", i), func() { busy = true })
		}
		if fastForward {
			ends := c.ends
			if c.Calls == 0 {
				ends = nil
			}
			s.FastForward(timer, sim.Idle{
				Until: func() virtual.Time {
					if busy {
						return virtual.Min
					}
					return virtual.Max
				},
				Ends:   ends,
				Period: c.Period, AfterEnd: true, AnyOrder: c.Calls == 0,
				Fire: func(times int64, at, until virtual.Time) {
					if s.Now() != at {
						t.Fatalf("a fast-forward to %v at %v", at, s.Now())
					}
					if until > at {
						end = max(end, until)
					}
					idle[i] += int(times)
					last = max(last, at)
					s.Set(timer, until.Add(c.Period))
				},
			})
		}
	}
	for i, o := range others {
		timer := s.NewTimer(o.Name, func() { tell(s.Now(), o.Name) })
		if i%2 == 0 {
			s.Stand(timer)
		}
		s.Set(timer, o.At)
	}
	if err := s.RunUntil(virtual.At(100 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return append(notes, fmt.Sprint("at the end ", idle, " ", last, " ", s.Now())), s.Events()
}

// With a seed, a fast-forward ends before an instant at which the order of idle firings matters.
// Later choices then are the same with fast-forwards and without: here, two tickers of a process
// fall together every 6 s, and the process takes one turn or two.
func TestFastForwardKeepsTheChoicesOfASeed(t *testing.T) {
	for seed := range choose.Seeded(50) {
		with, events := afterIdleMinute(seed, true)
		without, all := afterIdleMinute(seed, false)
		if diff := cmp.Diff(without, with); diff != "" {
			t.Errorf("seed %d with fast-forwards (-without +with):\n%s", seed, diff)
		}
		if events > all*2/3 {
			t.Errorf("seed %d: fast-forwards leave %d of %d events", seed, events, all)
		}
	}
}

// afterIdleMinute returns the order in which two processes run in the seconds after an idle minute,
// and the number of events.
func afterIdleMinute(seed choose.Seeded, fastForward bool) (order []string, events int64) {
	s := sim.New(sim.Options{Chooser: seed})
	defer s.Close()
	minute := virtual.At(time.Minute)
	note := func(what string) {
		if s.Now() >= minute {
			order = append(order, fmt.Sprint(s.Now(), " ", what))
		}
	}
	ticker := func(name string, period time.Duration, of func() *sim.Proc) *sim.Ticker {
		t := s.NewTicker(name, period)
		if fastForward {
			t.FastForward(sim.Idle{
				Until: func() virtual.Time { return minute },
				Fire:  func(times int64, _, _ virtual.Time) { of().SkipTurns(times) },
			})
		}
		return t
	}
	var loop *sim.Proc
	a, b := ticker("a", 2*time.Second, func() *sim.Proc { return loop }), ticker("b", 3*time.Second,
		func() *sim.Proc { return loop })
	loop = s.Go("loop", func(p *sim.Proc) {
		for {
			p.Select(sim.OnTick(a, func(*sim.Proc) { note("a") }), sim.OnTick(b, func(*sim.Proc) { note("b") }))
		}
	})
	s.Go("other", func(p *sim.Proc) {
		for p.Sleep(time.Minute); ; p.Sleep(time.Second) {
			note("other")
		}
	})
	if err := s.RunUntil(minute.Add(20 * time.Second)); err != nil {
		order = append(order, err.Error())
	}
	return order, s.Events()
}

// The work of two idle processes can overlap in a fast-forward. If their calls of a server return
// at one instant, or one returns when another begins, the fast-forward ends before: the server then
// takes one turn or two. Later choices are the same with fast-forwards and without.
func TestFastForwardOfWorkThatOverlaps(t *testing.T) {
	few, plain := int64(0), int64(0)
	rapid.Check(t, func(t *rapid.T) {
		var listers []lister
		for range rapid.IntRange(2, 3).Draw(t, "listers") {
			l := lister{period: time.Duration(rapid.IntRange(5, 30).Draw(t, "period")) * 100 * time.Millisecond}
			for range rapid.IntRange(1, 2).Draw(t, "calls") {
				l.calls = append(l.calls, time.Duration(rapid.IntRange(1, 8).Draw(t, "call"))*50*time.Millisecond)
			}
			listers = append(listers, l)
		}
		seed := choose.Seeded(rapid.Uint64().Draw(t, "seed"))
		with, events := listing(listers, seed, true)
		without, all := listing(listers, seed, false)
		if diff := cmp.Diff(without, with); diff != "" {
			t.Fatalf("with fast-forwards (-without +with):\n%s", diff)
		}
		few, plain = few+events, plain+all
	})
	if few > plain*2/3 {
		t.Errorf("fast-forwards leave %d of %d events", few, plain)
	}
}

// lister is a process that makes calls of a server, one after the other, a period after the last of
// the calls before.
type lister struct {
	period time.Duration
	calls  []time.Duration // how long they take
}

func (l *lister) ends(ends []virtual.Time, at virtual.Time) []virtual.Time {
	for _, took := range l.calls {
		at = at.Add(took)
		ends = append(ends, at)
	}
	return ends
}

// listing returns the order in which a server and listers run in the seconds after an idle minute,
// and the number of events.
func listing(listers []lister, seed choose.Seeded, fastForward bool) (order []string, events int64) {
	s := sim.New(sim.Options{Chooser: seed})
	defer s.Close()
	calls := map[*sim.Proc]virtual.Time{} // when they return
	var procs []*sim.Proc
	var server *sim.Timer
	arm := func() {
		next := virtual.Max
		for _, p := range procs {
			if at, ok := calls[p]; ok {
				next = min(next, at)
			}
		}
		if next < virtual.Max {
			s.Set(server, next)
		}
	}
	minute := virtual.At(time.Minute)
	note := func(who string) {
		if s.Now() >= minute {
			order = append(order, fmt.Sprint(s.Now(), " ", who))
		}
	}
	server = s.NewTimer("server", func() {
		note("server")
		for _, p := range procs {
			if at, ok := calls[p]; ok && at == s.Now() {
				delete(calls, p)
				p.Wake()
			}
		}
		arm()
	})
	for i, l := range listers {
		procs = append(procs, s.Go(fmt.Sprint("lister ", i), func(p *sim.Proc) {
			if fastForward {
				p.FastForward(sim.Idle{
					Until: func() virtual.Time { return minute - 1 },
					Ends:  l.ends, Period: l.period, AfterEnd: true,
					Fire: func(times int64, _, end virtual.Time) {
						turns := times * int64(len(l.calls))
						p.SkipTurns(turns)
						s.SkipFirings(server, turns)
						p.WakeAt(end.Add(l.period))
					},
				})
			}
			for {
				p.Sleep(l.period)
				note(p.Name())
				for _, took := range l.calls {
					calls[p] = p.Now().Add(took)
					arm()
					p.Park()
				}
			}
		}))
	}
	if err := s.RunUntil(minute.Add(30 * time.Second)); err != nil {
		order = append(order, err.Error())
	}
	return order, s.Events()
}

// A ticker fast-forwards while its receiver waits and Until allows it, and does not lose a tick
// after that.
func TestTickerFastForward(t *testing.T) {
	var got []virtual.Time
	skipped := 0
	s := sim.New(sim.Options{})
	ticker := s.NewTicker("ticker", time.Second)
	ticker.FastForward(sim.Idle{
		Until: func() virtual.Time { return virtual.At(10 * time.Second) },
		Fire:  func(times int64, _, _ virtual.Time) { skipped += int(times) },
	})
	s.Go("p", func(p *sim.Proc) {
		p.Sleep(3500 * time.Millisecond) // the tick of 1 s waits, two others are dropped
		for {
			ticker.C.Recv(p)
			got = append(got, p.Now())
		}
	})
	runAndClose(t, s, 12*time.Second)
	if fmt.Sprint(got) != "[3.5s 11s 12s]" || skipped != 7 {
		t.Errorf("ticks at %v, and %d skipped, want [3.5s 11s 12s], and 7", got, skipped)
	}
}

// The firings that the kernel skips count toward limits, and as turns of their timer.
func TestFastForwardIsLimited(t *testing.T) {
	s := sim.New(sim.Options{Limits: limit.Limits{Events: 5}})
	defer s.Close()
	timer := s.NewTimer("timer", func() {})
	s.FastForward(timer, sim.Idle{
		Until:  func() virtual.Time { return virtual.Max },
		Period: time.Second,
		Fire:   func(_ int64, at, _ virtual.Time) { s.Set(timer, at.Add(time.Second)) },
	})
	s.Set(timer, virtual.At(time.Second))
	var exceeded *limit.Error
	if err := s.RunUntil(virtual.At(time.Minute)); !errors.As(err, &exceeded) || s.Now() > virtual.At(time.Minute) {
		t.Fatalf("error %v at %v after more than 5 events", err, s.Now())
	}
	if exceeded.Name != "timer" || exceeded.Runs != 60 {
		t.Errorf("%q ran %d times, want the timer, 60 times", exceeded.Name, exceeded.Runs)
	}
}

// A fast-forward is short enough for limits and interrupts to take effect.
func TestFastForwardIsInterrupted(t *testing.T) {
	enough := errors.New("enough")
	s := sim.New(sim.Options{Interrupt: func() error { return enough }})
	defer s.Close()
	timer := s.NewTimer("timer", func() {})
	s.FastForward(timer, sim.Idle{
		Until:  func() virtual.Time { return virtual.Max },
		Period: time.Second,
		Fire:   func(_ int64, at, _ virtual.Time) { s.Set(timer, at.Add(time.Second)) },
	})
	s.Set(timer, virtual.At(time.Second))
	if err := s.RunUntil(virtual.At(24 * time.Hour)); err != enough || s.Now() > virtual.At(time.Hour) {
		t.Errorf("error %v at %v, want the one of the interrupt within 1,024 events", err, s.Now())
	}
}
