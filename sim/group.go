package sim

import (
	"cmp"
	"maps"
	"slices"
)

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

// End ends the processes of a group, the one that was started first first, and stops its timers. Deferred calls of
// the processes run; nothing else does. A process of the group must not call it.
func (s *Sim) End(g *Group) {
	var ended []*Proc
	for _, p := range slices.SortedFunc(maps.Keys(s.procs), func(a, b *Proc) int { return cmp.Compare(a.started, b.started) }) {
		if p.group == g {
			ended = append(ended, p)
			s.Stop(&p.sleep)
			p.stop()
			delete(s.procs, p)
		}
	}
	var timers []*Timer
	for t := range s.timers.All() {
		if t.group == g {
			timers = append(timers, t)
		}
	}
	for i := range s.due.Len() {
		if t := s.due.At(i); t.group == g {
			timers = append(timers, t)
		}
	}
	for _, t := range timers {
		s.Stop(t)
	}
	s.disable(ended)
}

// disable takes processes out of those that could go next.
func (s *Sim) disable(procs []*Proc) {
	if slices.Contains(procs, s.next) {
		s.next = nil
	}
	for i := s.ready.Len() - 1; i >= 0; i-- {
		if slices.Contains(procs, s.ready.At(i)) {
			s.ready.Remove(i)
		}
	}
	for i := s.last.Len() - 1; i >= 0; i-- {
		if slices.Contains(procs, s.last.At(i)) {
			s.last.Remove(i)
		}
	}
}
