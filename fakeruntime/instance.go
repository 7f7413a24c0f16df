package fakeruntime

import (
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// requester is the probe or hook that makes a request to a program.
type requester int

const (
	byLiveness requester = iota
	byReadiness
	byStartup
	byPostStart
	byPreStop
	forwarded // a request that the program answers or passes on as an Agent
	requesters
	byOther = requesters // programs have no answers for it
)

// instance is one run of a program.
type instance struct {
	rules     []activeRule
	histories [requesters + 1]history
	start     virtual.Time
	signaled  bool
}

// history is the history of the requests of one requester.
type history struct {
	runs int64   // number of probe runs; immediate retries do not count
	last *Answer // the latest answer
}

// activeRule is a rule that applies to an instance.
type activeRule struct {
	schedule
	number    int // in the program, from 1
	own       key // of random values for requests
	positions [requesters]position
}

// newInstance starts the program of a container. moments has the times of each moment.
func (c *podContainer) newInstance(attempt, replica int, start virtual.Time, moments map[int][]virtual.Time) instance {
	in := instance{start: start}
	own := c.own.with(int64(attempt))
	for i := range c.program.Rules {
		rule := &c.program.Rules[i]
		if !rule.Replica.Contains(replica) || !rule.Instance.Contains(attempt) {
			continue
		}
		active := activeRule{number: i + 1, own: own.with(int64(i))}
		switch rule.Clock {
		case AtScenario:
			active.schedule = newSchedule(rule, c.run.with(int64(i)))
			active.count(0)
		case AtMoment:
			active.schedule = newSchedule(rule, c.run.with(int64(i)))
			if times := moments[rule.Moment]; len(times) > 0 {
				active.count(times[0])
			}
		case AfterStart:
			active.schedule = newSchedule(rule, active.own)
			active.count(start)
		default:
			active.schedule = newSchedule(rule, active.own)
		}
		if rule.Until != nil {
			for _, t := range moments[*rule.Until] {
				active.occur(*rule.Until, t)
			}
		}
		in.rules = append(in.rules, active)
	}
	return in
}

// exit is the end of a program by itself.
type exit struct {
	at   virtual.Time
	code int32
	rule int // number of the rule that decides it; 0: none
}

// earlier returns the earlier of two exits, and o if both are at the same time.
func (e exit) earlier(o exit) exit {
	if o.at <= e.at {
		return o
	}
	return e
}

// exit returns the end of the program from now on if nothing stops it. A rule of the scenario clock
// that opened before the start of this instance has ended an earlier instance. An init container
// whose exit waits for a moment has no other.
func (in *instance) exit(now virtual.Time, init bool) exit {
	end := exit{at: never}
	waits := false
	for i := range in.rules {
		s := &in.rules[i].schedule
		if x := s.rule.Exit; x != nil && !x.Never && s.rule.Clock != AfterSigterm {
			if at := s.exit(in.start); at != never {
				end = end.earlier(exit{at, x.Code, in.rules[i].number})
			}
			waits = waits || s.rule.Clock == AtMoment && s.first == never
		}
	}
	if init && end.at == never && !waits {
		end = exit{at: max(now, later(in.start, initExit))}
	}
	return end
}

// signal delivers the stop signal. It returns the resulting exit, from the last rule that has one.
// A program cannot handle SIGKILL.
func (in *instance) signal(now virtual.Time, number int) exit {
	in.signaled = true
	end := exit{at: later(now, SigtermExit), code: codeSignal + int32(number)}
	for i := range in.rules {
		s := &in.rules[i].schedule
		if s.rule.Clock != AfterSigterm {
			continue
		}
		s.count(now)
		if x := s.rule.Exit; x != nil {
			end = exit{s.first, x.Code, in.rules[i].number}
			if x.Never {
				end.at = never
			}
		}
	}
	if number == sigKILL {
		end = exit{at: now, code: codeSIGKILL}
	}
	return end
}

// listener reports whether the listener of the program is closed at t, the number of the rule with
// Listens that decides it, or 0, and until when the rules leave it so.
func (in *instance) listener(t virtual.Time) (closed bool, rule int, until virtual.Time) {
	refuses, until := false, never
	for i := range in.rules {
		s := &in.rules[i].schedule
		if !s.rule.Refuse && s.rule.Listens == nil {
			continue
		}
		_, open := s.at(t)
		switch {
		case open && s.rule.Refuse:
			refuses = true
		case open:
			closed, rule = !*s.rule.Listens, in.rules[i].number
		}
		until = min(until, s.next(t))
	}
	if refuses {
		return true, 0, never
	}
	return closed, rule, until
}

// answer returns the answer to a request that arrives at t, and the window and the number of the
// rule that gives it. The number is 0 without a rule.
func (in *instance) answer(from requester, t virtual.Time) (*Answer, window, int) {
	for i := len(in.rules) - 1; i >= 0; i-- {
		r := &in.rules[i]
		series := r.rule.series(from)
		if series == nil || len(series.Items) == 0 {
			continue
		}
		w, open := r.at(t)
		if !open || !r.applies(from, t) {
			continue
		}
		return r.positions[from].next(series, w.ordinal, in.histories[from].runs), w, r.number
	}
	return &ok, window{}, 0
}

// follow returns the answer to a request that follows a redirect.
func (in *instance) follow(from requester) *Answer {
	switch last := in.histories[from].last; {
	case last == nil:
		return &ok
	case last.Handler != nil:
		return last
	case last.Then == nil:
		return &ok
	default:
		return last.Then
	}
}

// ok is the answer of a program without rules.
var ok = Answer{Word: Answers}

// refused is the answer of a port on which nothing listens, broken that of a command that the
// runtime does not run.
var refused, broken = Answer{Word: Refuses}, Answer{Word: Breaks}

func (r *activeRule) applies(from requester, t virtual.Time) bool {
	chance := r.rule.Chance
	return chance == nil || r.own.with(drawChance).with(int64(from)).with(int64(t)).happens(*chance)
}

// series returns the answers of a rule to a requester, or nil.
func (r *Rule) series(from requester) *Series {
	own := [requesters + 1]*Series{r.Liveness, r.Readiness, r.Startup, r.PostStart, r.PreStop, nil, nil}[from]
	if own == nil && (from <= byStartup || from == forwarded) {
		return r.Probes
	}
	return own
}

// position is the place of a requester in a series.
type position struct {
	opening int64 // 1 + ordinal of the opening; 0: not used yet
	run     int64 // the probe run that was answered last
	item    int
	used    int // number of runs that the item has answered
}

// next returns the answer to the next run. A request of the same run gets the same answer again.
func (p *position) next(s *Series, opening, run int64) *Answer {
	switch last := len(s.Items) - 1; {
	case p.opening != opening+1:
		*p = position{opening: opening + 1, run: run, used: 1}
	case p.run == run:
	case p.used < s.Items[p.item].Count, p.item == last && !s.Repeat:
		p.run, p.used = run, p.used+1
	default:
		p.run, p.used, p.item = run, 1, (p.item+1)%(last+1)
	}
	return &s.Items[p.item].Answer
}

// Occur tells the programs that a moment occurs now. The first call for a moment starts the clock
// of its AtMoment rules, in running instances and in later ones. Each call closes the rules that
// last until the moment; see Rule. Events that are due until now happen first, as in Submit.
func (r *Runtime) Occur(now virtual.Time, moment int) {
	r.run(now)
	first := len(r.moments[moment]) == 0
	r.moments[moment] = append(r.moments[moment], r.now)
	r.occur(moment, first, func(*container) bool { return true })
}

// occur tells some running programs that a moment occurs now.
func (r *Runtime) occur(moment int, first bool, which func(*container) bool) {
	for _, c := range r.all.containers {
		if c.State == Running && which(c) && c.occur(moment, r.now, first) {
			r.scheduleEnd(c)
		}
	}
}

// OccurIn tells the program in a container of a pod, if it runs, that a moment occurs now. It
// starts the clock of the AtMoment rules of this instance only.
func (r *Runtime) OccurIn(now virtual.Time, podUID, name string, moment int) {
	r.run(now)
	r.occur(moment, true, func(c *container) bool { return c.PodUID == podUID && c.Name == name })
}

// occur starts the clock of the rules of a moment if it is the first one, and closes the rules that
// last until the moment. It reports whether the end of the program or its listener may have
// changed.
func (c *container) occur(moment int, now virtual.Time, first bool) bool {
	closed := false
	for i := range c.instance.rules {
		active := &c.instance.rules[i]
		if active.occur(moment, now) {
			closed = closed || active.rule.Exit != nil
		}
		if !first || active.rule.Clock != AtMoment || active.rule.Moment != moment {
			continue
		}
		active.count(now)
		if x, at := active.rule.Exit, active.exit(c.instance.start); x != nil && !x.Never && at != never {
			c.exit = c.exit.earlier(exit{at, x.Code, active.number})
		}
	}
	if closed {
		c.exit = c.instance.exit(now, c.config.program.Init)
		if c.instance.signaled {
			c.exit = c.exit.earlier(c.onSignal)
		}
	}
	listens := c.listenAt
	c.scheduleListener(now)
	return first || closed || c.listenAt != listens
}

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
