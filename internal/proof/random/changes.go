package random

import "go.yaml.in/yaml/v3"

// probeKeys are the keys of probes in rules.
var probeKeys = []string{"liveness", "readiness", "startup"}

// changeProbes turns the gate MutableContainerProbes on, and adds steps that add, change and remove
// probes. spec is the spec of the scenario. The rest of the scenario stays the same.
func (g *generator) changeProbes(spec *yaml.Node) {
	changes := *g
	changes.state ^= 0x3c6ef372
	put(spec, "kubernetesVersions", texts("v1.38-preview"))
	gates := field(field(field(spec, "kubelet"), "config"), "featureGates")
	for _, gate := range []string{"ContainerScopedProbes", "MutableContainerProbes"} {
		if has(gates, gate) {
			get(gates, gate).Value = "true"
		} else {
			put(gates, gate, literal("true"))
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
func (g *generator) changeProbe(spec *yaml.Node, p *pod) {
	c := one(&g.rng, p.all()...)
	if c.kind == initOnce {
		return
	}
	change := inline()
	put(change, "name", text(c.name))
	for range g.between(1, 2) {
		key := one(&g.rng, probeKeys...)
		probe := key + "Probe"
		switch {
		case has(change, probe):
		case g.percent(25):
			put(change, probe, literal("null"))
		default:
			put(change, probe, g.changedProbe(key, c.probeLike(probe)))
		}
	}
	n, value, patch, containers := g.when(p), inline(), inline(), "containers"
	if c.kind != regular {
		containers = "initContainers"
	}
	addTo(patch, containers, change)
	put(value, "pod", text(p.name))
	put(value, "spec", patch)
	put(n, "patch", value)
	addTo(spec, "steps", n)
}

// probeLike returns the probe of a container, or another one, to which the same rules can answer,
// or nil if the container has no probes.
func (c *container) probeLike(probe string) *yaml.Node {
	like := get(c.spec, probe)
	for _, key := range probeKeys {
		if like == nil {
			like = get(c.spec, key+"Probe")
		}
	}
	return like
}

// changedProbe returns a probe with the handler of another one, or with a command.
func (g *generator) changedProbe(key string, was *yaml.Node) *yaml.Node {
	n := inline()
	for _, handler := range []string{"httpGet", "tcpSocket", "grpc", "exec"} {
		if was != nil && has(was, handler) {
			put(n, handler, get(was, handler))
		}
	}
	if was == nil {
		command := inline()
		put(command, "command", texts("cat", "/tmp/added"))
		put(n, "exec", command)
	}
	g.sometimes(30, n, "initialDelaySeconds", initialDelays)
	g.sometimes(50, n, "periodSeconds", periods)
	g.sometimes(40, n, "timeoutSeconds", timeouts)
	g.sometimes(40, n, "failureThreshold", failureThresholds)
	if key == "readiness" {
		g.sometimes(20, n, "successThreshold", successThresholds)
	}
	return n
}
