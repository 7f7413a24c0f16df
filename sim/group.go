package sim

// Group is a part of the world that can end while the rest goes on, as a program does that crashes: processes,
// timers and tickers. The zero value is a group with nothing in it.
type Group struct{ _ byte }

// In runs f. The processes, timers and tickers that are made meanwhile belong to the group, and so does what
// these make in their turn, but for calls of At.
func (s *Sim) In(g *Group, f func()) {
	outer := s.group
	s.group = g
	f()
	s.group = outer
}

// End ends the processes of a group, the one that was started first first, and stops its timers; nil is all there is.
// Deferred calls of the processes run; nothing else does, and what they start or wake in the group ends too.
// A process of the group must not call it.
func (s *Sim) End(g *Group) {
	timer := func(t *Timer) bool { return g == nil || t.group == g }
	proc := func(p *Proc) bool { return timer(&p.sleep) }
	for i := 0; i < s.procs.Len(); i++ {
		if proc(s.procs.At(i)) {
			s.In(g, s.procs.At(i).stop)
		}
	}
	s.procs.Drop(proc)
	s.ready.Drop(proc)
	s.last.Drop(proc)
	s.timers.Drop(timer)
	s.due.Drop(timer)
}
