package sim

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Copy returns a simulation that begins at a time, at which s would go on, and that has counted the
// events of s toward the limits. All earlier instants of s must be over, and s must have no
// chooser. The copy has no processes and timers: those of s refer to s. Create the ones that go on
// in the copy, run it until that time for the processes to begin to wait, and set the timers with
// SetAs.
func (s *Sim) Copy(at virtual.Time) *Sim {
	c := New(Options{Start: at})
	c.meter = s.meter.Copy()
	return c
}

// SetAs sets a timer of a copy as a timer of the original is set: for the same time, and at its
// place among the timers of this time.
func (s *Sim) SetAs(t, original *Timer) {
	s.Stop(t)
	t.at, t.set = original.at, original.set
	s.timers.pushAs(t)
}

// Mark returns a number for OlderAt.
func (s *Sim) Mark() uint64 { return s.timers.Last() }

// OlderAt reports whether a timer is set for a time since a mark or longer.
func (s *Sim) OlderAt(t virtual.Time, mark uint64) bool {
	older := func(timer *Timer) bool { return timer.set > 0 && timer.set <= mark && timer.at == t }
	return slices.ContainsFunc(s.timers.standing, older) || s.timers.Any(older)
}
