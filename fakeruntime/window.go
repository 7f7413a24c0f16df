package fakeruntime

import (
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// window is one time during which a rule is open.
type window struct {
	ordinal     int64 // 0 for the first
	open, close virtual.Time
}

// Window is a time during which a rule of a program that ran was open.
type Window struct {
	Pod, Container string // the pod as namespace/name
	Rule           int    // number in the program, from 1
	From, To       virtual.Time
}

// mostWindows is how many windows of a rule and an instance Windows returns. It returns none of a
// rule with more: a part of them would look like all.
const mostWindows = 5000

// Windows returns the times until end during which rules were open. Rules that do not depend on the
// time, and those that only end a program, have none.
func (r *Runtime) Windows(end virtual.Time) []Window {
	list := slices.Clone(r.windows)
	for _, c := range r.all.containers {
		if c.State == Running {
			list = c.appendWindows(list, end)
		}
	}
	return list
}

// appendWindows appends the windows of the instance that runs.
func (c *container) appendWindows(list []Window, end virtual.Time) []Window {
	for i := range c.instance.rules {
		active := &c.instance.rules[i]
		s, start := active.schedule, c.instance.start
		if !s.rule.isTimed() {
			continue
		}
		s.last = window{open: s.first}
		t, before := max(s.first, start), len(list)
		for n := 0; t < end; n++ {
			if n > 2*mostWindows { // each opens and closes
				list = list[:before]
				break
			}
			if w, open := s.at(t); open {
				list = append(list, Window{c.Namespace + "/" + c.PodName, c.Name, active.number, max(w.open, start),
					min(w.close, end)})
			}
			t = s.next(t)
		}
	}
	return list
}

// isTimed reports whether the rule answers, or keeps the program from running, in a part of the
// time only.
func (r *Rule) isTimed() bool {
	lasts := r.For != nil || r.Until != nil
	return lasts || r.Exit == nil && (r.Clock != AfterStart || r.From.Max > 0)
}

// The purposes of the random values of a rule.
const (
	drawFrom int64 = iota
	drawFor
	drawEvery
	drawChance
)

// minDrawnPeriod is the shortest period that can be random at each opening, because walking through
// shorter periods one by one would take too long. A rule with a shorter period always uses the
// middle of its range.
const minDrawnPeriod = 10 * time.Millisecond

// maxWalk is the number of openings to walk through for one request. A longer distance is skipped
// in one step.
const maxWalk = 1 << 20

// schedule determines when a rule is open for one instance.
type schedule struct {
	rule  *Rule
	key   key           // of the random values of the rule
	clock virtual.Time  // of a rule of the run: since when moments close it; never while the clock has not started
	first virtual.Time  // the first opening; never while the clock of the rule has not started
	every time.Duration // fixed period; 0: none, or a random one
	drawn bool          // each period is random
	last  window        // if drawn: the latest opening; its close is not set
	until virtual.Time  // when the moment Until closed the rule; never before
}

// ofRun reports whether the rule is one event for all instances.
func (r *Rule) ofRun() bool { return r.Clock == AtScenario || r.Clock == AtMoment }

// newSchedule returns the schedule of a rule. The key belongs to the instance. For an AtScenario or
// AtMoment rule it belongs to the run, because all instances share the random values of the rule.
func newSchedule(rule *Rule, k key) schedule {
	s := schedule{rule: rule, key: k, clock: never, first: never, until: never}
	switch every := rule.Every; {
	case every == nil || every.Max <= 0:
	case rule.ofRun() || every.Max <= every.Min || !k.seeded:
		s.every = k.with(drawEvery).with(0).draw(*every)
	case every.Min < minDrawnPeriod:
		s.every = key{}.draw(*every)
	default:
		s.drawn = true
	}
	return s
}

// count starts the clock of the rule.
func (s *schedule) count(from virtual.Time) {
	s.first = later(from, max(0, s.key.with(drawFrom).draw(s.rule.From)))
	s.last.open = s.first
	s.clock = from
	if s.rule.Clock == AtScenario {
		s.clock = s.first
	}
}

// occur closes the rule if it lasts until a moment that occurs now, and reports whether it did.
func (s *schedule) occur(moment int, now virtual.Time) bool {
	if s.rule.Until == nil || *s.rule.Until != moment || s.until != never || s.rule.ofRun() && now < s.clock {
		return false
	}
	s.until = now
	return true
}

// at returns the window that is open at t, and whether one is open. With random periods, t must not
// decrease from call to call.
func (s *schedule) at(t virtual.Time) (window, bool) {
	if t < s.first || s.first == never {
		return window{}, false
	}
	w := s.opening(t)
	w.close = s.until
	if s.rule.For != nil {
		w.close = min(w.close, later(w.open, s.key.with(drawFor).with(s.drawOrdinal(w)).draw(*s.rule.For)))
	}
	return w, t < w.close
}

// next returns when the rule opens or closes next after t, or never, as far as its clock and its
// moments say now. As for at, t must not decrease.
func (s *schedule) next(t virtual.Time) virtual.Time {
	if t < s.first {
		return s.first
	}
	w, open := s.at(t)
	at := never
	switch {
	case s.drawn:
		at = later(w.open, s.key.with(drawEvery).with(w.ordinal).draw(*s.rule.Every))
	case s.every > 0:
		at = w.open.Add(s.every)
	}
	if open {
		at = min(at, w.close)
	}
	if at >= s.until {
		return never
	}
	return at
}

// exit returns when the rule ends an instance that starts at t, or never.
func (s *schedule) exit(start virtual.Time) virtual.Time {
	at := s.first
	if s.rule.ofRun() && (s.rule.For != nil || s.rule.Until != nil) && s.first < start {
		w, open := s.at(start)
		switch {
		case open:
			at = start
		case s.every > 0:
			at = w.open.Add(s.every)
		default:
			return never
		}
	}
	if at < start || at >= s.until {
		return never
	}
	return at
}

// opening returns the latest opening until t. t must not be before the first opening.
func (s *schedule) opening(t virtual.Time) window {
	switch {
	case s.drawn:
		return s.walk(t)
	case s.every > 0:
		n := int64(t.Sub(s.first) / s.every)
		return window{ordinal: n, open: s.first.Add(time.Duration(n) * s.every)}
	}
	return window{open: s.first}
}

// walk goes from opening to opening until t. In a run, it visits each opening once.
func (s *schedule) walk(t virtual.Time) window {
	if middle := (key{}).draw(*s.rule.Every); t.Sub(s.last.open)/middle > maxWalk {
		n := int64(t.Sub(s.last.open) / middle)
		s.last = window{ordinal: s.last.ordinal + n, open: s.last.open.Add(time.Duration(n) * middle)}
	}
	for {
		next := later(s.last.open, s.key.with(drawEvery).with(s.last.ordinal).draw(*s.rule.Every))
		if next > t {
			return s.last
		}
		s.last = window{ordinal: s.last.ordinal + 1, open: next}
	}
}

// drawOrdinal distinguishes the random values of successive openings.
func (s *schedule) drawOrdinal(w window) int64 {
	if s.rule.ofRun() {
		return 0
	}
	return w.ordinal
}
