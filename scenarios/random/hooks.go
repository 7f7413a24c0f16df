package random

import "time"

// hooks of containers that have some.
var hooks = []weighted[[]string]{
	{35, []string{"postStart"}},
	{40, []string{"preStop"}},
	{25, []string{"postStart", "preStop"}},
}

// putHooks gives some containers of the pod lifecycle hooks, most of them commands. A sleep must not be longer than
// the grace period of the pod.
func (g *generator) putHooks(p *pod) {
	for _, c := range p.all() {
		if c.kind == initOnce || !g.percent(g.temper.hooks) {
			continue
		}
		lifecycle := inline()
		for _, hook := range pick(&g.rng, hooks) {
			handler, action := inline(), inline()
			if g.percent(70) {
				put(action, "command", texts(one(&g.rng, g.commands(c)...)...))
				put(handler, "exec", action)
				c.hooks = append(c.hooks, hook)
			} else {
				put(action, "seconds", number(g.between(0, min(p.grace, 20))))
				put(handler, "sleep", action)
			}
			put(lifecycle, hook, handler)
		}
		put(c.spec, "lifecycle", lifecycle)
	}
}

var hookAnswers = []weighted[string]{{40, late}, {20, "fail"}, {8, "error"}, {8, anyCode}, {10, "hang"}, {6, "down"}, {8, "ok"}}

// answersHooks: slowly, badly or never.
func (b *program) answersHooks() {
	for _, hook := range b.container.hooks {
		if !b.percent(70) {
			continue
		}
		r := b.rule()
		kind := pick(&b.rng, hookAnswers)
		if kind == late {
			longest := time.Duration(b.pod.grace+3) * time.Second
			put(r, hook, text("ok in "+b.draw(b.time(time.Millisecond, min(longest, time.Minute)))))
			continue
		}
		put(r, hook, b.answer(b.word(kind, hook)))
	}
}
