package sim

import (
	"time"

	"probesim.dev/sim/virtual"
)

// Timer calls a function, ticks a Ticker or wakes a process at a set time.
type Timer struct {
	set    uint64 // its number in the queue of timers; 0 if it is not set
	at     virtual.Time
	of     interface{ due(t *Timer, s *Sim) }
	turns  *int64 // how often timers of this name have fired
	group  *Group
	name   string
	digest digest

	standing bool        // it is in timers.standing
	passes   func() bool // set by SkipIf
	idle     *Idle       // set by FastForward
}

// key identifies the timer in choices. The timer of a sleep has the name of its process, which is
// the key of the process.
func (t *Timer) key() string {
	if _, sleeps := t.of.(*Proc); sleeps {
		return "sleep of " + t.name
	}
	return t.name
}

type call func()

func (f call) due(t *Timer, s *Sim) {
	t.count(s, 1)
	f()
}

// count counts turns of a timer. A process that sleeps counts its turn when it runs instead.
func (t *Timer) count(s *Sim, turns int64) {
	*t.turns += turns
	s.group, s.cause = t.group, 0
}

// NewTimer returns a timer that is not set. When the timer fires, the kernel calls f, which must
// not wait. The name identifies the timer in choices and errors; use a name that no other living
// timer or process has.
func (s *Sim) NewTimer(name string, f func()) *Timer {
	return &Timer{name: name, of: call(f), turns: s.meter.Turns(name), group: s.group}
}

// Set sets the timer to a virtual time, or to the present instant if that time has passed. It
// replaces an earlier setting.
func (s *Sim) Set(t *Timer, at virtual.Time) {
	s.Stop(t)
	t.at = max(at, s.now)
	s.timers.push(t)
}

// Stand makes Set cheap for a timer that is set often, and every other event a little dearer. Use
// it for few timers that exist for a long time.
func (s *Sim) Stand(t *Timer) {
	if !t.standing {
		t.standing = true
		s.timers.standing = append(s.timers.standing, t)
		if t.set > 0 {
			s.timers.Forget()
		}
	}
}

// SkipIf makes the timer fire without an effect if passes returns true: passes then has done what
// the timer would do, and has set it again. Such a firing does not count as an event. The timer is
// a standing one, as with Stand.
func (s *Sim) SkipIf(t *Timer, passes func() bool) {
	t.passes = passes
	s.Stand(t)
}

// fire fires a timer.
func (s *Sim) fire(t *Timer) {
	if t.passes != nil {
		t.count(s, 1)
		if t.passes() {
			s.meter.WithoutEffect(1)
			return
		}
		*t.turns--
	}
	t.of.due(t, s)
}

// At calls f at virtual time t, even if the present group ends before. Other calls may have the
// same name.
func (s *Sim) At(t virtual.Time, name string, f func()) *Timer {
	timer := &Timer{name: name, of: call(f), turns: new(s.meter.Turn(name))}
	s.Set(timer, t)
	return timer
}

// Stop prevents the timer from firing.
func (s *Sim) Stop(t *Timer) {
	if t.set > 0 {
		s.timers.forget(t)
		return
	}
	s.due.Drop(func(o *Timer) bool { return o == t })
}

// Ticker sends on C at a fixed period. While a tick waits in C, further ticks are dropped.
type Ticker struct {
	timer  Timer
	period time.Duration
	sim    *Sim
	C      Chan[struct{}]
}

// NewTicker returns a ticker whose first tick is one period away. The period must be positive.
func (s *Sim) NewTicker(name string, period time.Duration) *Ticker {
	t := &Ticker{C: Chan[struct{}]{sim: s, name: name, cap: 1}, sim: s, period: period}
	t.timer = Timer{name: name, of: t, turns: s.meter.Turns(name), group: s.group}
	s.Set(&t.timer, s.now.Add(period))
	return t
}

func (t *Ticker) due(timer *Timer, s *Sim) {
	timer.count(s, 1)
	s.Set(&t.timer, t.timer.at.Add(t.period))
	t.C.TrySend(struct{}{})
}

// SkipIf skips ticks that have no effect: a tick is skipped if the receiver waits for it and idle
// returns true.
func (t *Ticker) SkipIf(idle func() bool) {
	t.sim.SkipIf(&t.timer, func() bool {
		if !t.C.Awaited() {
			return false
		}
		at := t.timer.at
		t.sim.Set(&t.timer, at.Add(t.period))
		if idle() {
			return true
		}
		t.sim.Stop(&t.timer)
		t.timer.at = at
		return false
	})
}

// Reset starts a new period now and drops a tick that waits in C, like Go's tickers since Go 1.23.
func (t *Ticker) Reset(period time.Duration) {
	t.period = period
	t.C.buf.Clear()
	t.sim.Set(&t.timer, t.sim.now.Add(period))
}

// Stop ends the ticks.
func (t *Ticker) Stop() { t.sim.Stop(&t.timer) }
