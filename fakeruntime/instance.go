package fakeruntime

import (
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
