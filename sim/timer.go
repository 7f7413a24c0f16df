package sim

import "time"

// Timer calls a function, ticks or wakes a process, at a time.
type Timer struct {
	set   uint64 // the number under which it waits; 0: it does not
	at    time.Duration
	of    interface{ due(t *Timer, s *Sim) }
	turns *int64 // how often it fired, with all others of its name
	group *Group
	name  string
}

type call func()

func (f call) due(t *Timer, s *Sim) {
	t.count(s)
	f()
}

// count is the turn of a timer that is not the sleep of a process, which has its turn when it runs.
func (t *Timer) count(s *Sim) {
	*t.turns++
	s.group, s.cause = t.group, 0
}

// NewTimer returns a timer that is not set. When it fires, f runs in the kernel: it must not wait. The
// name identifies it in choices and errors and should be unique among what is alive.
func (s *Sim) NewTimer(name string, f func()) *Timer {
	return &Timer{name: name, of: call(f), turns: s.meter.Turns(name), group: s.group}
}

// Set has the timer fire at time t, or at this instant if t is past, instead of when it was set to.
func (s *Sim) Set(t *Timer, at time.Duration) {
	s.Stop(t)
	t.at = max(at, s.now)
	t.set = s.timers.Push(t.at, t)
}

// At calls f at time t, whatever group ends until then. Other calls may have the same name.
func (s *Sim) At(t time.Duration, name string, f func()) {
	s.Set(&Timer{name: name, of: call(f), turns: new(s.meter.Turn(name))}, t)
}

// Stop keeps the timer from firing.
func (s *Sim) Stop(t *Timer) {
	if t.set > 0 {
		t.set = 0
		s.timers.Forget()
		return
	}
	s.due.Drop(func(o *Timer) bool { return o == t })
}

// Ticker sends on C at a fixed period; a tick finds no room while one is waiting there.
type Ticker struct {
	timer  Timer
	period time.Duration
	idle   func() bool
	sim    *Sim
	C      Chan[struct{}]
}

// NewTicker returns a ticker whose first tick is one period away. The period must be positive.
func (s *Sim) NewTicker(name string, period time.Duration) *Ticker {
	t := &Ticker{C: Chan[struct{}]{sim: s, name: name, cap: 1}, sim: s, period: period}
	t.timer = Timer{name: name, of: t, turns: s.meter.Turns(name), group: s.group}
	s.Set(&t.timer, s.now+period)
	return t
}

func (t *Ticker) due(timer *Timer, s *Sim) {
	timer.count(s)
	s.Set(&t.timer, t.timer.at+t.period)
	if t.idle != nil && t.C.awaited() && t.idle() {
		s.meter.Spare(1)
	} else {
		t.C.TrySend(struct{}{})
	}
}

// Unless spares ticks that would be received at once and lead to nothing: those that find the receiver
// waiting and idle true.
func (t *Ticker) Unless(idle func() bool) { t.idle = idle }

// Reset starts a new period now and drops a tick that waits, as Go's tickers do since 1.23.
func (t *Ticker) Reset(period time.Duration) {
	t.period = period
	t.C.buf.Clear()
	t.sim.Set(&t.timer, t.sim.now+period)
}

// Stop ends the ticks.
func (t *Ticker) Stop() { t.sim.Stop(&t.timer) }
