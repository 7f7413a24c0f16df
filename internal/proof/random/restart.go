package random

import (
	"time"

	"go.yaml.in/yaml/v3"
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
				put(c.spec, "restartPolicyRules", list(aside.restartRule(c)))
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
		put(c.spec, "restartPolicy", text(policy))
		if g.percent(60) {
			rules := list()
			for range g.between(1, 3) {
				rules.Content = append(rules.Content, g.restartRule(c))
			}
			put(c.spec, "restartPolicyRules", rules)
		}
	}
}

// restartsAll reports whether a pod has a rule that needs the feature gate
// RestartAllContainersOnContainerExits.
func (g *generator) restartsAll() bool {
	for _, p := range g.pods {
		for _, c := range p.all() {
			if c.restartsAll {
				return true
			}
		}
	}
	return false
}

// restartRule returns a rule for some exit codes, or for all others.
func (g *generator) restartRule(c *container) *yaml.Node {
	values := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for range g.between(0, 3) {
		values.Content = append(values.Content, number(pick(&g.rng, exitCodes)))
	}
	action, aside := "Restart", g.aside()
	if aside.percent(25) && !g.options.WithoutRestartAll {
		action, c.restartsAll = "RestartAllContainers", true
	}
	codes, n := inline(), inline()
	put(codes, "operator", text(one(&g.rng, "In", "In", "NotIn")))
	put(codes, "values", values)
	put(n, "action", text(action))
	put(n, "exitCodes", codes)
	return n
}

const gate = "example.com/open"

// putReadinessGate adds a readiness gate to some pods.
func (g *generator) putReadinessGate(p *pod, spec *yaml.Node) {
	if aside := g.aside(); g.percent(5) || aside.percent(8) {
		named := inline()
		put(named, "conditionType", text(gate))
		put(spec, "readinessGates", list(named))
		p.gated = true
	}
}

// moveGate returns steps that patch the condition of a pod's readiness gate. Some have no effect.
func (g *generator) moveGate(p *pod) []*yaml.Node {
	var steps []*yaml.Node
	for i := range g.between(0, 4) {
		n, patch, status, condition := g.when(p), inline(), inline(), inline()
		put(patch, "pod", text(p.name))
		switch {
		case g.percent(8):
			put(condition, "$patch", text("delete"))
			put(condition, "type", text(gate))
		default:
			put(condition, "type", text(one(&g.rng, gate, gate, gate, "example.com/other")))
			put(condition, "status", text(one(&g.rng, "True", []string{"True", "False"}[i%2], "Unknown")))
		}
		put(status, "conditions", &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle,
			Content: []*yaml.Node{condition}})
		put(patch, "status", status)
		put(n, "patch", patch)
		steps = append(steps, n)
	}
	return steps
}

// putDeadline adds an active deadline to some pods.
func (g *generator) putDeadline(spec *yaml.Node) {
	if aside := (rng{g.state ^ 1}); aside.percent(6) {
		put(spec, "activeDeadlineSeconds", number(aside.between(1, int(g.duration/time.Second))))
	}
}
