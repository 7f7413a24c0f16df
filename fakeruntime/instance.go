package fakeruntime

import (
	"probesim.dev/sim/virtual"
)

// asker is who makes a request to a program.
type asker int

const (
	byLiveness asker = iota
	byReadiness
	byStartup
	byPostStart
	byPreStop
	askers
	byNobody = askers // nobody the program has answers for
)

// instance is one run of a program.
type instance struct {
	rules     []activeRule
	askers    [askers + 1]asked
	start     virtual.Time
	signalled bool
}

// asked is what an asker has asked.
type asked struct {
	runs int64   // how often, immediate retries not counted
	last *Answer // that it got
}

// activeRule is a rule that fits an instance.
type activeRule struct {
	schedule
	own       key // of the draws of requests
	positions [askers]position
}

// newInstance starts the program.
func (c *podContainer) newInstance(attempt, replica int, start virtual.Time) instance {
	in := instance{start: start}
	own := c.own.with(int64(attempt))
	for i := range c.program.Rules {
		rule := &c.program.Rules[i]
		if !rule.Replica.Contains(replica) || !rule.Instance.Contains(attempt) {
			continue
		}
		active := activeRule{own: own.with(int64(i))}
		switch rule.Clock {
		case AtScenario:
			active.schedule = newSchedule(rule, c.run.with(int64(i)))
			active.count(0)
		case AfterStart:
			active.schedule = newSchedule(rule, active.own)
			active.count(start)
		default:
			active.schedule = newSchedule(rule, active.own)
		}
		in.rules = append(in.rules, active)
	}
	return in
}

// exit is an end of a program by itself.
type exit struct {
	at   virtual.Time
	code int32
}

// earlier returns the earlier of two exits, o if they are at once.
func (e exit) earlier(o exit) exit {
	if o.at <= e.at {
		return o
	}
	return e
}

// exit returns the end that the program comes to if it is not stopped. An event of the scenario that
// came before the start of this instance has ended another one.
func (in *instance) exit(init bool) exit {
	end := exit{at: never}
	for i := range in.rules {
		s := &in.rules[i].schedule
		if x := s.rule.Exit; x != nil && !x.Never && s.rule.Clock != AfterSigterm && s.first >= in.start {
			end = end.earlier(exit{s.first, x.Code})
		}
	}
	if init && end.at == never {
		end = exit{at: later(in.start, initExit)}
	}
	return end
}

// signal is the arrival of the stop signal. It returns the exit with which the program answers it: that
// of the last rule that has one. SIGKILL is not answered.
func (in *instance) signal(now virtual.Time, number int) exit {
	in.signalled = true
	end := exit{later(now, sigtermExit), codeSignal + int32(number)}
	for i := range in.rules {
		s := &in.rules[i].schedule
		if s.rule.Clock != AfterSigterm {
			continue
		}
		s.count(now)
		if x := s.rule.Exit; x != nil {
			end = exit{s.first, x.Code}
			if x.Never {
				end.at = never
			}
		}
	}
	if number == sigKILL {
		end = exit{now, codeSIGKILL}
	}
	return end
}

// answer chooses the answer to a request that arrives at t, and the window of the rule that gives it.
func (in *instance) answer(who asker, t virtual.Time) (*Answer, window) {
	for i := len(in.rules) - 1; i >= 0; i-- {
		r := &in.rules[i]
		series := r.rule.series(who)
		if series == nil || len(series.Items) == 0 {
			continue
		}
		w, open := r.at(t)
		if !open || !r.comesUp(who, t) {
			continue
		}
		return r.positions[who].next(series, w.ordinal, in.askers[who].runs), w
	}
	return &ok, window{}
}

// follow returns the answer to a request that follows a redirect.
func (in *instance) follow(who asker) *Answer {
	switch last := in.askers[who].last; {
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

func (r *activeRule) comesUp(who asker, t virtual.Time) bool {
	chance := r.rule.Chance
	return chance == nil || r.own.with(drawChance).with(int64(who)).with(int64(t)).happens(*chance)
}

// series returns the answers of a rule to an asker, nil if it has none.
func (r *Rule) series(who asker) *Series {
	own := [askers + 1]*Series{r.Liveness, r.Readiness, r.Startup, r.PostStart, r.PreStop, nil}[who]
	if own == nil && who <= byStartup {
		return r.Probes
	}
	return own
}

// position is how far an asker has come in a series.
type position struct {
	opening int64 // 1 + ordinal of the opening, 0 at first
	run     int64 // the run that was answered last
	item    int
	used    int // attempts that the item has answered
}

// next returns the answer to the next attempt, or the same again for the same run.
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
