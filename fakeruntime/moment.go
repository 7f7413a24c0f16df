package fakeruntime

import "probesim.dev/sim/virtual"

// Occur starts the clock of the AtMoment rules of a moment at time now, in running instances and in later ones. Only the first call
// for a moment counts. Events that are due until now happen first, as in Submit.
func (r *Runtime) Occur(now virtual.Time, moment int) {
	r.run(now)
	if _, before := r.moments[moment]; before {
		return
	}
	r.moments[moment] = r.now
	for _, c := range r.all.containers {
		if c.State == Running {
			c.occur(moment, r.now)
			r.scheduleEnd(c)
		}
	}
}

// occur starts the clock of the rules of a moment.
func (c *container) occur(moment int, now virtual.Time) {
	for i := range c.instance.rules {
		active := &c.instance.rules[i]
		if active.rule.Clock != AtMoment || active.rule.Moment != moment {
			continue
		}
		active.count(now)
		if x := active.rule.Exit; x != nil && !x.Never {
			c.exit = c.exit.earlier(exit{active.first, x.Code, active.number})
		}
	}
}
