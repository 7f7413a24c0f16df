package fakeruntime

import (
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Refusal reports whether the program in a container refuses the connections of a probe or hook at
// time now, which rule says so, and until when the rules leave it so, unless it gets a signal. It
// is for drivers with real listeners: it counts as no request. An answer in a list of several, or
// with a chance, counts as none that refuses.
func (r *Runtime) Refusal(now virtual.Time, podUID, container string, probe trace.Probe, hook string) (refuses bool,
	rule int, until virtual.Time) {
	r.run(now)
	c := r.config(podUID, container)
	if c == nil || c.running == nil {
		return true, 0, never
	}
	return c.running.instance.refusal(requesterOf(&Call{Probe: probe, Hook: hook}), r.now)
}

// refusal is Refusal for a running instance.
func (in *instance) refusal(from requester, t virtual.Time) (refuses bool, rule int, until virtual.Time) {
	until = never
	for i := range in.rules {
		r := &in.rules[i]
		if series := r.rule.series(from); series != nil && len(series.Items) > 0 {
			until = min(until, r.next(t))
			if _, open := r.at(t); open && r.rule.Chance == nil {
				rule = r.number
				refuses = len(series.Items) == 1 && series.Items[0].Answer.Word == Refuses
			}
		}
	}
	return refuses, rule, until
}
