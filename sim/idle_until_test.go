package sim_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
)

// IdleUntil is true up to the next timer, the end of RunUntil and the limit of virtual time, unless
// a process or another timer can go at this instant.
func TestQuiet(t *testing.T) {
	const end = 10 * time.Second
	var ticker *sim.Ticker
	never := func() bool { return false }
	for name, c := range map[string]struct {
		limit time.Duration
		build func(s *sim.Sim, ask func()) // ask is called at 1 s, before other timers of this instant
		until time.Duration                // the first answer is true up to here; 0: never
		again int                          // further calls of ask, whose answers are false
	}{
		"nothing else": {until: end},
		"a limit":      {limit: 3 * time.Second, until: 3 * time.Second},
		"a later timer": {build: func(s *sim.Sim, _ func()) {
			s.At(virtual.At(2*time.Second), "later", func() {})
		}, until: 2*time.Second - 1},
		"a timer of the instant": {build: func(s *sim.Sim, _ func()) {
			s.At(virtual.At(time.Second), "also now", func() {})
		}},
		"another ticker": {build: func(s *sim.Sim, _ func()) { s.NewTicker("ticker", time.Second) }},
		"its ticker": {build: func(s *sim.Sim, _ func()) {
			ticker = s.NewTicker("ticker", time.Second)
			ticker.SkipIf(never)
		}, until: 2*time.Second - 1},
		"its ticker, later": {build: func(s *sim.Sim, _ func()) {
			ticker = s.NewTicker("ticker", 2*time.Second)
			ticker.SkipIf(never)
		}, until: 2*time.Second - 1},
		"a process": {build: func(s *sim.Sim, ask func()) {
			s.At(virtual.At(time.Second), "start", func() { s.Go("p", (*sim.Proc).Park); s.At(s.Now(), "again", ask) })
		}, again: 1},
		"a process that lets the others go first": {build: func(s *sim.Sim, ask func()) {
			s.Go("p", func(p *sim.Proc) {
				p.Sleep(2 * time.Second)
				s.At(s.Now(), "again", ask)
				p.YieldToAll()
			})
		}, until: 2*time.Second - 1, again: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ticker = nil
			s := sim.New(sim.Options{Limits: limit.Limits{Time: virtual.At(c.limit)}})
			defer s.Close()
			asked := 0
			ask := func() {
				asked++
				for _, d := range []time.Duration{time.Second, 2*time.Second - 1, 2 * time.Second, 3 * time.Second,
					3*time.Second + 1, end, end + 1} {
					if got := s.IdleUntil(virtual.At(d), ticker); got != (d <= c.until) && asked == 1 ||
						got && asked > 1 {
						t.Errorf("quiet until %v: %v", d, got)
					}
				}
				if s.IdleUntil(s.Now()-1, ticker) {
					t.Error("quiet until the past")
				}
			}
			s.At(virtual.At(time.Second), "asks", ask)
			if c.build != nil {
				c.build(s, ask)
			}
			if err := s.RunUntil(virtual.At(end)); err != nil && c.limit == 0 || asked != 1+c.again {
				t.Fatal(asked, err)
			}
		})
	}
}

// Turns that a process and a timer are spared count in the identities of later choices, toward
// limits and for Interrupt. They are not events.
func TestSpare(t *testing.T) {
	const spared = 600
	run := func(spare bool, most int64) (asked []string, events int64, interrupts int, err error) {
		a := &asker{only: choose.Next}
		s := sim.New(sim.Options{Chooser: a, Limits: limit.Limits{Events: most}, Interrupt: func() error {
			interrupts++
			return nil
		}})
		defer s.Close()
		p := s.Go("p", func(p *sim.Proc) {
			for {
				p.Park()
			}
		})
		var timer *sim.Timer
		timer = s.NewTimer("timer", func() {
			p.Wake()
			next := time.Second
			if spare && s.Now() == virtual.At(time.Second) {
				p.SkipTurns(spared)
				s.SkipFirings(timer, spared)
				next += spared * time.Second
			}
			s.Set(timer, s.Now().Add(next))
		})
		s.Set(timer, virtual.At(time.Second))
		end := virtual.At((spared + 2) * time.Second)
		s.At(end, "tie", func() { s.At(end, "another tie", func() {}) })
		err = s.RunUntil(end)
		return a.asked, s.Events(), interrupts, err
	}
	asked, events, interrupts, err := run(false, 0)
	if len(asked) < 2 || interrupts != 1 || err != nil {
		t.Fatal(asked, interrupts, err)
	}
	for _, most := range []int64{events - 1, events} {
		askedToo, eventsToo, interruptsToo, err := run(true, most)
		if most < events {
			if err == nil {
				t.Errorf("a limit of %d events does not count the spared turns", most)
			}
			continue
		}
		if diff := cmp.Diff(asked, askedToo); diff != "" || eventsToo != events-2*spared ||
			interruptsToo != interrupts || err != nil {
			t.Errorf("%d instead of %d events, %d interrupts, error %v (-want +got):\n%s", eventsToo, events-2*spared,
				interruptsToo, err, diff)
		}
	}
}
