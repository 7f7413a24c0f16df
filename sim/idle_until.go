package sim

import "probesim.dev/sim/virtual"

// IdleUntil reports whether nothing else happens after the present event until virtual time t, t
// included. If so, the callback of a timer can do at once what a process would do until t. It
// counts the turns of the process with Proc.SkipTurns, and those of the timers for which the
// process would wait with Sim.SkipFirings.
//
// A tick of the ticker but that is due now does not count. But can be nil, or a ticker with SkipIf.
func (s *Sim) IdleUntil(t virtual.Time, but *Ticker) bool {
	others := s.enabled() + s.last.Len()
	var timer *Timer
	if but != nil && but.timer.at == s.now && t < s.now.Add(but.period) {
		timer = &but.timer
		if but.isDue() {
			others--
		}
	}
	if others > 0 || t < s.now || t > s.until {
		return false
	}
	next := s.timers.firstBut(timer)
	return next == nil || next.at > t
}

// isDue reports whether a tick is one of the due timers.
func (t *Ticker) isDue() bool {
	for i := range t.sim.due.Len() {
		if t.sim.due.At(i) == &t.timer {
			return true
		}
	}
	return false
}

// SkipTurns counts turns of a process that it does not have to run. Later choices then have the
// same identity as if it had run them.
func (p *Proc) SkipTurns(turns int64) { p.sim.SkipFirings(&p.sleep, turns) }

// SkipFirings counts times at which a timer does not have to fire, as Proc.SkipTurns counts turns.
func (s *Sim) SkipFirings(t *Timer, times int64) {
	*t.turns += times
	s.meter.Skip(times, s.now)
}
