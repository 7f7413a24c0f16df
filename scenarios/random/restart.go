package random

import "go.yaml.in/yaml/v3"

// containerPolicies are restart policies of containers.
var containerPolicies = []weighted[string]{{35, "Always"}, {35, "OnFailure"}, {30, "Never"}}

// putRestartPolicies gives some containers of the pod a restart policy of their own, and rules for some exit codes.
// An init container that always restarts would be a sidecar, and has its policy.
func (g *generator) putRestartPolicies(p *pod) {
	for _, c := range p.all() {
		if c.kind == sidecar || !g.percent(g.temper.policies) {
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
				rules.Content = append(rules.Content, g.restartRule())
			}
			put(c.spec, "restartPolicyRules", rules)
		}
	}
}

// restartRule is about some of the codes that programs end with, or about all others.
func (g *generator) restartRule() *yaml.Node {
	values := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for range g.between(0, 3) {
		values.Content = append(values.Content, number(pick(&g.rng, exitCodes)))
	}
	codes, n := inline(), inline()
	put(codes, "operator", text(one(&g.rng, "In", "In", "NotIn")))
	put(codes, "values", values)
	put(n, "action", text("Restart"))
	put(n, "exitCodes", codes)
	return n
}

// putReadinessGate gives the pod a condition to wait for that nobody sets.
func (g *generator) putReadinessGate(spec *yaml.Node) {
	if g.percent(5) {
		gate := inline()
		put(gate, "conditionType", text("example.com/open"))
		put(spec, "readinessGates", list(gate))
	}
}
