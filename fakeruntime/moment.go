package fakeruntime

import "probesim.dev/sim/virtual"

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
