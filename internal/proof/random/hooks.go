package random

import "time"

// hooks are the combinations of lifecycle hooks.
var hooks = []weighted[[]string]{
	{35, []string{"postStart"}}, {40, []string{"preStop"}}, {25, []string{"postStart", "preStop"}},
}

// putHooks adds lifecycle hooks to some containers of the pod, mostly commands. The API server
// rejects a sleep longer than the grace period of the pod.
func (g *generator) putHooks(p *pod) {
	for _, c := range p.all() {
		if c.kind == initOnce || !g.percent(g.temper.hooks) {
			continue
		}
		lifecycle := inline()
		for _, hook := range pick(&g.rng, hooks) {
			aside, handler := g.aside(), inline()
			switch {
			case !g.percent(70):
				put(handler, "sleep", inline("seconds", g.between(0, min(p.grace, 20))))
			case aside.percent(60):
				put(handler, "exec", inline("command", one(&g.rng, g.commands(c)...)))
				c.hooks = append(c.hooks, askingHook{hook, "exec"})
			case aside.percent(92):
				put(handler, "httpGet", aside.httpGet(c))
				c.hooks = append(c.hooks, askingHook{hook, "httpGet"})
			default:
				put(handler, "tcpSocket", inline("port", 80))
			}
			put(lifecycle, hook, handler)
		}
		put(c.spec, "lifecycle", lifecycle)
	}
}

// askingHook is a hook that runs a command or sends a request to the program.
type askingHook struct{ key, handler string }

var hookAnswers = map[string][]weighted[string]{
	"exec": {{40, late}, {20, "fail"}, {8, "error"}, {8, anyCode}, {10, "hang"}, {6, "down"}, {8, "ok"}},
	"httpGet": {{30, late}, {10, "fail"}, {8, "error"}, {7, anyCode}, {10, "hang"}, {15, "down"}, {5, "warn"},
		{15, named}},
}

// answersHooks adds slow, failing and missing answers to hooks.
func (b *program) answersHooks() {
	for _, hook := range b.container.hooks {
		if !b.percent(70) {
			continue
		}
		r := b.rule()
		kind := pick(&b.rng, hookAnswers[hook.handler])
		if kind == late {
			longest := time.Duration(b.pod.grace+3) * time.Second
			put(r, hook.key, "ok in "+b.draw(b.time(time.Millisecond, min(longest, time.Minute))))
			continue
		}
		put(r, hook.key, answer(b.word(kind, hook.key)))
	}
}

// putStopSignals sets the stop signals of containers in some pods. The API server then requires the
// OS of the pod.
func (g *generator) putStopSignals(p *pod, spec tree) {
	aside := g.aside()
	if !aside.percent(8) {
		return
	}
	p.signals = true
	put(spec, "os", inline("name", "linux"))
	for _, c := range p.all() {
		if c.kind != initOnce && aside.percent(70) {
			signal := one(&aside.rng, "SIGQUIT", "SIGUSR1", "SIGRTMIN+3", "SIGKILL", "SIGTERM")
			put(field(c.spec, "lifecycle"), "stopSignal", signal)
		}
	}
}
