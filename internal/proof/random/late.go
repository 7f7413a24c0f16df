package random

import (
	"fmt"
	"slices"
	"time"
)

// addLateFeatures adds features to some scenarios that the format has had for a shorter time:
// static pods, pulls in parallel, slow mounts, outages of the registry, ephemeral containers and
// resizes. spec is the spec of the scenario. The rest of the scenario stays the same, because the
// features have their own stream of numbers.
func (g *generator) addLateFeatures(spec tree) {
	late := *g
	late.state ^= 0x5bf03635
	for i, p := range late.pods {
		entry := get(spec, "pods").Content[i]
		switch {
		case !p.gated && !p.kept && late.percent(12):
			put(entry, "static", true)
			late.changeManifest(spec, p)
		case late.percent(15):
			late.debug(spec, p, entry)
		}
	}
	pulls := late.anyContainer(func(c *container) bool { return c.pulls })
	if pulls && late.percent(50) {
		late.pullInParallel(spec)
	}
	if pulls && late.percent(30) {
		add(spec, "steps", put(late.when(one(&late.rng, late.pods...)), "registryDown", late.outage(nil)))
	}
	if late.percent(15) {
		late.override(field(spec, "delays"), delay{"volumeMount", 900 * time.Millisecond})
	}
	if late.options.WithoutResizes {
		return
	}
	for i, p := range late.pods {
		if !has(get(spec, "pods").Content[i], "static") && late.percent(20) {
			late.resize(spec, p)
		}
	}
}

// resize gives the containers of a pod resources and resize policies, and changes the resources in
// one to three steps.
func (g *generator) resize(spec tree, p *pod) {
	containers := slices.DeleteFunc(p.all(),
		func(c *container) bool { return c.kind == initOnce && !g.options.WithInitResizes })
	restarts := textOf(p.spec, "restartPolicy") != "Never"
	for _, c := range containers {
		put(c.spec, "resources", g.resources())
		for _, name := range []string{"cpu", "memory"} {
			if restarts && c.kind != initOnce && g.percent(40) {
				add(c.spec, "resizePolicy", inline("resourceName", name, "restartPolicy", "RestartContainer"))
			}
		}
	}
	for range g.between(1, 3) {
		n, patch := g.when(p), inline()
		for _, c := range containers {
			if c == containers[0] || g.percent(50) {
				add(patch, c.list(), inline("name", c.name, "resources", g.resources()))
			}
		}
		add(spec, "steps", put(n, "resize", inline("pod", p.name, "spec", patch)))
	}
}

// list returns the field of a pod that has the container.
func (c *container) list() string {
	if c.kind != regular {
		return "initContainers"
	}
	return "containers"
}

// resources returns requests, and a limit that is at least as high.
func (g *generator) resources() tree {
	cpu, memory, limit := 100*g.between(1, 3), 50*g.between(1, 3), 100*g.between(2, 4)
	requests := inline("cpu", fmt.Sprintf("%dm", cpu), "memory", fmt.Sprintf("%dMi", memory))
	return inline("requests", requests, "limits", inline("memory", fmt.Sprintf("%dMi", limit)))
}

// changeManifest removes or changes the manifest of some static pods, and sometimes writes the
// manifest again.
func (g *generator) changeManifest(spec tree, p *pod) {
	for range g.between(0, 2) {
		n := g.when(p)
		if g.percent(40) {
			put(n, "removeManifest", inline("pod", p.name))
		} else {
			put(n, "setManifest", g.patch(p))
		}
		add(spec, "steps", n)
	}
}

// debug adds an ephemeral container to a pod, and sometimes another one.
func (g *generator) debug(spec tree, p *pod, entry tree) {
	for _, name := range []string{"debugger", "shell"}[:one(&g.rng, 1, 1, 2)] {
		step := g.when(p)
		c := g.containerNamed(name, regular, inline())
		put(c.spec, "targetContainerName", g.maybe(40, func() any { return one(&g.rng, p.all()...).name }))
		add(spec, "steps", put(step, "debug", inline("pod", p.name, "container", c.spec)))
		b := &program{generator: g, pod: p, container: c}
		if g.percent(60) {
			pick(&g.rng, crashes)(b)
		}
		if g.percent(40) {
			pick(&g.rng, stops)(b)
		}
		if len(b.rules) > 0 {
			add(entry, "containers", block("name", name, "behavior", b.rules))
		}
	}
}

// pullInParallel makes the kubelet pull several images at the same time.
func (g *generator) pullInParallel(spec tree) {
	most := g.maybe(50, func() any { return g.between(1, 3) })
	put(field(field(spec, "kubelet"), "config"), "serializeImagePulls", false, "maxParallelImagePulls", most)
}

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
