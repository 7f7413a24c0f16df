package random

import (
	"slices"
	"time"
)

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

// containerPolicies are the restart policies of containers.
var containerPolicies = []weighted[string]{{35, "Always"}, {35, "OnFailure"}, {30, "Never"}}

// putRestartPolicies adds restart policies and rules for exit codes to some containers of the pod.
// An init container with the policy Always would be a sidecar. A sidecar always restarts, so only a
// rule that restarts all containers has an effect.
func (g *generator) putRestartPolicies(p *pod) {
	for _, c := range p.all() {
		if c.kind == sidecar {
			if aside := g.aside(); aside.percent(g.temper.policies/3) && !g.options.WithoutRestartAll {
				add(c.spec, "restartPolicyRules", aside.restartRule(c))
				c.restartsAll = true
			}
			continue
		}
		if !g.percent(g.temper.policies) {
			continue
		}
		policy := pick(&g.rng, containerPolicies)
		if c.kind == initOnce && policy == "Always" {
			policy = "OnFailure"
		}
		put(c.spec, "restartPolicy", policy)
		if g.percent(60) {
			for range g.between(1, 3) {
				add(c.spec, "restartPolicyRules", g.restartRule(c))
			}
		}
	}
}

// anyContainer reports whether a container of the scenario has a property.
func (g *generator) anyContainer(has func(*container) bool) bool {
	return slices.ContainsFunc(g.pods, func(p *pod) bool { return slices.ContainsFunc(p.all(), has) })
}

// restartRule returns a rule for some exit codes, or for all others.
func (g *generator) restartRule(c *container) tree {
	values := items()
	for range g.between(0, 3) {
		values.Content = append(values.Content, treeOf(pick(&g.rng, exitCodes)))
	}
	action, aside := "Restart", g.aside()
	if aside.percent(25) && !g.options.WithoutRestartAll {
		action, c.restartsAll = "RestartAllContainers", true
	}
	return inline("action", action, "exitCodes", inline("operator", one(&g.rng, "In", "In", "NotIn"), "values", values))
}

const gate = "example.com/open"

// putReadinessGate adds a readiness gate to some pods.
func (g *generator) putReadinessGate(p *pod, spec tree) {
	if aside := g.aside(); g.percent(5) || aside.percent(8) {
		add(spec, "readinessGates", inline("conditionType", gate))
		p.gated = true
	}
}

// moveGate returns steps that patch the condition of a pod's readiness gate. Some have no effect.
func (g *generator) moveGate(p *pod) []tree {
	var steps []tree
	for i := range g.between(0, 4) {
		n := g.when(p)
		condition := inline("$patch", "delete", "type", gate)
		if !g.percent(8) {
			condition = inline("type", one(&g.rng, gate, gate, gate, "example.com/other"),
				"status", one(&g.rng, "True", []string{"True", "False"}[i%2], "Unknown"))
		}
		put(n, "patch", inline("pod", p.name, "status", inline("conditions", items(condition))))
		steps = append(steps, n)
	}
	return steps
}

// deadline returns the active deadline of some pods, and nil for others.
func (g *generator) deadline() any {
	aside := rng{g.state ^ 1}
	return aside.maybe(6, func() any { return aside.between(1, int(g.duration/time.Second)) })
}
