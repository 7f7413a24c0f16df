package random

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// hooks are the combinations of lifecycle hooks.
var hooks = []weighted[[]string]{
	{35, []string{"postStart"}},
	{40, []string{"preStop"}},
	{25, []string{"postStart", "preStop"}},
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
			aside, handler, action := g.aside(), inline(), inline()
			switch {
			case !g.percent(70):
				put(action, "seconds", number(g.between(0, min(p.grace, 20))))
				put(handler, "sleep", action)
			case aside.percent(60):
				put(action, "command", texts(one(&g.rng, g.commands(c)...)...))
				put(handler, "exec", action)
				c.hooks = append(c.hooks, askingHook{hook, "exec"})
			case aside.percent(92):
				aside.putHTTPGet(c, action)
				put(handler, "httpGet", action)
				c.hooks = append(c.hooks, askingHook{hook, "httpGet"})
			default:
				put(action, "port", number(80))
				put(handler, "tcpSocket", action)
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
			put(r, hook.key, text("ok in "+b.draw(b.time(time.Millisecond, min(longest, time.Minute)))))
			continue
		}
		put(r, hook.key, b.answer(b.word(kind, hook.key)))
	}
}

// putStopSignals sets the stop signals of containers in some pods. The API server then requires the
// OS of the pod.
func (g *generator) putStopSignals(p *pod, spec *yaml.Node) {
	aside := g.aside()
	if !aside.percent(8) {
		return
	}
	p.signals = true
	os := inline()
	put(os, "name", text("linux"))
	put(spec, "os", os)
	for _, c := range p.all() {
		if c.kind == initOnce || !aside.percent(70) {
			continue
		}
		if !has(c.spec, "lifecycle") {
			put(c.spec, "lifecycle", inline())
		}
		put(get(c.spec, "lifecycle"), "stopSignal",
			text(one(&aside.rng, "SIGQUIT", "SIGUSR1", "SIGRTMIN+3", "SIGKILL", "SIGTERM")))
	}
}
