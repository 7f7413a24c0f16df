package random

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// addLateFeatures adds features to some scenarios that the format has had for a shorter time:
// static pods, pulls in parallel, slow mounts, outages of the registry, ephemeral containers and
// resizes. spec is the spec of the scenario. The rest of the scenario stays the same, because the
// features have their own stream of numbers.
func (g *generator) addLateFeatures(spec *yaml.Node) {
	late := *g
	late.state ^= 0x5bf03635
	for i, p := range late.pods {
		entry := get(spec, "pods").Content[i]
		switch {
		case !p.gated && !p.kept && late.percent(12):
			put(entry, "static", literal("true"))
			late.changeManifest(spec, p)
		case late.percent(15):
			late.debug(spec, p, entry)
		}
	}
	pulls := slices.ContainsFunc(late.pods, func(p *pod) bool {
		return slices.ContainsFunc(p.all(), func(c *container) bool { return c.pulls })
	})
	if pulls && late.percent(50) {
		late.pullInParallel(spec)
	}
	if pulls && late.percent(30) {
		n := late.when(one(&late.rng, late.pods...))
		put(n, "registryDown", late.outage(nil))
		addTo(spec, "steps", n)
	}
	if late.percent(15) {
		if delays := field(spec, "delays"); !has(delays, "volumeMount") {
			put(delays, "volumeMount", text(late.draw(late.latency(900*time.Millisecond))))
		}
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
func (g *generator) resize(spec *yaml.Node, p *pod) {
	containers := slices.DeleteFunc(p.all(),
		func(c *container) bool { return c.kind == initOnce && !g.options.WithInitResizes })
	podSpec := get(p.manifest, "spec")
	restarts := !has(podSpec, "restartPolicy") || get(podSpec, "restartPolicy").Value != "Never"
	for _, c := range containers {
		put(c.spec, "resources", g.resources())
		policies := list()
		for _, name := range []string{"cpu", "memory"} {
			if restarts && c.kind != initOnce && g.percent(40) {
				policy := inline()
				put(policy, "resourceName", text(name))
				put(policy, "restartPolicy", text("RestartContainer"))
				policies.Content = append(policies.Content, policy)
			}
		}
		if len(policies.Content) > 0 {
			put(c.spec, "resizePolicy", policies)
		}
	}
	for range g.between(1, 3) {
		n, value, patch := g.when(p), inline(), inline()
		for _, c := range containers {
			if c == containers[0] || g.percent(50) {
				change, key := inline(), "containers"
				if c.kind != regular {
					key = "initContainers"
				}
				put(change, "name", text(c.name))
				put(change, "resources", g.resources())
				addTo(patch, key, change)
			}
		}
		put(value, "pod", text(p.name))
		put(value, "spec", patch)
		put(n, "resize", value)
		addTo(spec, "steps", n)
	}
}

// resources returns requests, and a limit that is at least as high.
func (g *generator) resources() *yaml.Node {
	n, requests, limits := inline(), inline(), inline()
	put(requests, "cpu", text(fmt.Sprintf("%dm", 100*g.between(1, 3))))
	put(requests, "memory", text(fmt.Sprintf("%dMi", 50*g.between(1, 3))))
	put(limits, "memory", text(fmt.Sprintf("%dMi", 100*g.between(2, 4))))
	put(n, "requests", requests)
	put(n, "limits", limits)
	return n
}

// changeManifest removes or changes the manifest of some static pods, and sometimes writes the
// manifest again.
func (g *generator) changeManifest(spec *yaml.Node, p *pod) {
	for range g.between(0, 2) {
		n, change := g.when(p), inline()
		put(change, "pod", text(p.name))
		if g.percent(40) {
			put(n, "removeManifest", change)
		} else {
			patch := g.patch(p)
			put(n, "setManifest", patch)
		}
		addTo(spec, "steps", n)
	}
}

// debug adds an ephemeral container to a pod, and sometimes another one.
func (g *generator) debug(spec *yaml.Node, p *pod, entry *yaml.Node) {
	for _, name := range []string{"debugger", "shell"}[:one(&g.rng, 1, 1, 2)] {
		c, step, value := &container{name: name, kind: regular, spec: inline(), answers: list()}, g.when(p), inline()
		i := pick(&g.rng, images)
		put(c.spec, "name", text(name))
		put(c.spec, "image", text(i.name))
		if i.policy != "" {
			put(c.spec, "imagePullPolicy", text(i.policy))
		}
		if g.percent(40) {
			put(c.spec, "targetContainerName", text(one(&g.rng, p.all()...).name))
		}
		put(value, "pod", text(p.name))
		put(value, "container", c.spec)
		put(step, "debug", value)
		addTo(spec, "steps", step)
		b := &program{generator: g, pod: p, container: c}
		if g.percent(60) {
			pick(&g.rng, crashes)(b)
		}
		if g.percent(40) {
			pick(&g.rng, stops)(b)
		}
		if len(b.rules) > 0 {
			behavior := object()
			put(behavior, "name", text(name))
			put(behavior, "behavior", list(b.rules...))
			addTo(entry, "containers", behavior)
		}
	}
}

// pullInParallel makes the kubelet pull several images at the same time.
func (g *generator) pullInParallel(spec *yaml.Node) {
	config := field(field(spec, "kubelet"), "config")
	put(config, "serializeImagePulls", literal("false"))
	if g.percent(50) {
		put(config, "maxParallelImagePulls", number(g.between(1, 3)))
	}
}

// field returns the mapping of a key, which it adds if there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if !has(n, key) {
		put(n, key, inline())
	}
	return get(n, key)
}

// addTo adds an item to the list of a key.
func addTo(n *yaml.Node, key string, item *yaml.Node) {
	if !has(n, key) {
		put(n, key, list())
	}
	items := get(n, key)
	items.Content = append(items.Content, item)
}
