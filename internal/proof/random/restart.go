package random

import (
	"slices"
	"time"
)

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
