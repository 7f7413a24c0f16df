package random

// probeKeys are the keys of probes in rules.
var probeKeys = []string{"liveness", "readiness", "startup"}

// changeProbes turns the gate MutableContainerProbes on, and adds steps that add, change and remove
// probes. spec is the spec of the scenario. The rest of the scenario stays the same.
func (g *generator) changeProbes(spec tree) {
	changes := *g
	changes.state ^= 0x3c6ef372
	put(spec, "kubernetesVersions", []string{"v1.38-preview"})
	gates := field(field(field(spec, "kubelet"), "config"), "featureGates")
	for _, gate := range []string{"ContainerScopedProbes", "MutableContainerProbes"} {
		if has(gates, gate) {
			get(gates, gate).Value = "true"
		} else {
			put(gates, gate, true)
		}
	}
	if changes.percent(50) {
		get(gates, "ContainerScopedProbes").Value = "false"
	}
	for i, p := range changes.pods {
		for range changes.between(1, 4) {
			if !has(get(spec, "pods").Content[i], "static") {
				changes.changeProbe(spec, p)
			}
		}
	}
}

// changeProbe adds a step that changes one or two probes of a container. The kind of their handlers
// stays.
func (g *generator) changeProbe(spec tree, p *pod) {
	c := one(&g.rng, p.all()...)
	if c.kind == initOnce {
		return
	}
	change := inline("name", c.name)
	for range g.between(1, 2) {
		key := one(&g.rng, probeKeys...)
		switch {
		case has(change, key+"Probe"):
		case g.percent(25):
			put(change, key+"Probe", literal("null"))
		default:
			put(change, key+"Probe", g.changedProbe(key, c))
		}
	}
	patch := inline()
	add(patch, c.list(), change)
	add(spec, "steps", put(g.when(p), "patch", inline("pod", p.name, "spec", patch)))
}

// changedProbe returns a probe with the handler of the container's probe of a key, or of another
// one, to which the same rules can answer. If the container has no probes, it runs a command.
func (g *generator) changedProbe(key string, c *container) tree {
	n, was := inline(), c.probe(key)
	for _, other := range probeKeys {
		if was == nil {
			was = c.probe(other)
		}
	}
	if was != nil {
		put(n, was.handler, was.action)
	} else {
		put(n, "exec", inline("command", []string{"cat", "/tmp/added"}))
	}
	put(n, "initialDelaySeconds", g.maybeNumber(30, initialDelays), "periodSeconds", g.maybeNumber(50, periods),
		"timeoutSeconds", g.maybeNumber(40, timeouts), "failureThreshold", g.maybeNumber(40, failureThresholds))
	if key == "readiness" {
		put(n, "successThreshold", g.maybeNumber(20, successThresholds))
	}
	return n
}
