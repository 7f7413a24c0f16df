package random

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
)

// addMore adds more features to some scenarios: long runs, replicas that fail or exit at the same
// moment, rules with since and endpoints, pods on the network of the node and with several volumes,
// slow returns of StopContainer, and steps about all kinds of containers. The features have their
// own stream of numbers, and spec is the spec of the scenario.
func (g *generator) addMore(spec *yaml.Node) {
	more := *g
	more.state ^= 0x1f83d9ab
	for i, p := range more.pods {
		entry, podSpec := get(spec, "pods").Content[i], get(p.manifest, "spec")
		if more.percent(6) {
			put(podSpec, "hostNetwork", literal("true"))
		}
		if more.percent(8) {
			more.putVolumes(p, podSpec)
		}
		if more.percent(8) {
			more.answerAtEndpoint(p, entry)
		}
		if more.percent(8) {
			more.failSince(p, entry)
		}
		if more.percent(10) {
			addTo(spec, "steps", more.endAnyContainer(p))
		}
		if len(p.init) > 0 && more.percent(15) {
			addTo(spec, "steps", more.patchInitImage(p))
		}
	}
	if more.percent(8) {
		if delays := field(spec, "delays"); !has(delays, "stopReturn") {
			put(delays, "stopReturn", text(more.draw(more.latency(80*time.Millisecond))))
		}
	}
	if more.percent(9) {
		more.addReplicas(spec)
		g.crowd = more.crowd
	}
	if more.percent(4) && !more.options.Short && len(more.crowd) == 0 {
		get(spec, "duration").Value = value.Format(time.Duration(more.between(1201, 3600)) * time.Second)
	}
	for i, p := range more.pods {
		if more.percent(5) {
			more.exitWhile(p, get(spec, "pods").Content[i])
		}
	}
	for i, p := range more.pods {
		if more.percent(12) {
			more.answerForAnother(p, get(spec, "pods").Content[i])
		}
	}
}

// putVolumes gives a pod up to three more volumes, each of which some of its containers mount.
func (g *generator) putVolumes(p *pod, podSpec *yaml.Node) {
	for _, name := range []string{"cache", "data", "logs"}[:g.between(1, 3)] {
		volume := inline()
		put(volume, "name", text(name))
		put(volume, "emptyDir", inline())
		addTo(podSpec, "volumes", volume)
		for _, c := range p.all() {
			if g.percent(50) {
				mount := inline()
				put(mount, "name", text(name))
				put(mount, "mountPath", text("/"+name))
				addTo(c.spec, "volumeMounts", mount)
			}
		}
	}
}

// answerAtEndpoint makes an endpoint of a container fail for some time.
func (g *generator) answerAtEndpoint(p *pod, entry *yaml.Node) {
	c := one(&g.rng, p.all()...)
	if len(c.probes) == 0 {
		return
	}
	asking := one(&g.rng, c.probes...)
	endpoint := endpointOf(asking.handler, get(get(c.spec, asking.key+"Probe"), asking.handler))
	b := &program{generator: g, pod: p, container: c}
	r, answers := b.rule(), inline()
	b.clock(r)
	b.window(r)
	answers.Content = append(answers.Content, text(endpoint), b.answer(b.bad(asking.key, true)))
	put(r, "endpoints", answers)
	b.addRules(entry)
}

// answerForAnother makes a container answer the plain HTTP probes at an endpoint of another one, as
// a mesh agent does. Its own probes are plain HTTP too, because its rules hold for all.
func (g *generator) answerForAnother(p *pod, entry *yaml.Node) {
	for _, c := range p.containers {
		agents := slices.DeleteFunc(p.all(), func(other *container) bool {
			return other == c || slices.ContainsFunc(other.probes,
				func(q *probe) bool { return q.handler != "httpGet" }) ||
				slices.Contains(p.init, other) &&
					!(has(other.spec, "restartPolicy") && get(other.spec, "restartPolicy").Value == "Always")
		})
		for _, asking := range c.probes {
			endpoint := endpointOf(asking.handler, get(get(c.spec, asking.key+"Probe"), asking.handler))
			if len(agents) == 0 || !strings.HasPrefix(endpoint, "http:") {
				continue
			}
			by, answers, r := inline(), inline(), inline()
			put(by, "answeredBy", text(one(&g.rng, agents...).name))
			answers.Content = append(answers.Content, text(endpoint), by)
			put(r, "endpoints", answers)
			b := &program{generator: g, pod: p, container: c, rules: []*yaml.Node{r}}
			b.addRules(entry)
			return
		}
	}
}

// endpointOf returns the endpoint of a handler in the notation of rules.
func endpointOf(handler string, n *yaml.Node) string {
	of := func(key string) string {
		if !has(n, key) {
			return ""
		}
		return get(n, key).Value
	}
	switch handler {
	case "exec":
		var words []string
		for _, word := range get(n, "command").Content {
			words = append(words, word.Value)
		}
		return "exec:" + strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	case "httpGet":
		scheme := "http:"
		if of("scheme") == "HTTPS" {
			scheme = "https:"
		}
		return scheme + of("port") + "/" + strings.TrimPrefix(of("path"), "/")
	case "grpc":
		return strings.TrimSuffix("grpc:"+of("port")+"/"+of("service"), "/")
	}
	return "tcp:" + of("port")
}

// failSince makes the probes of a container fail some time after a moment, or makes it exit.
func (g *generator) failSince(p *pod, entry *yaml.Node) {
	c := one(&g.rng, p.all()...)
	b := &program{generator: g, pod: p, container: c}
	since := g.since(one(&g.rng, g.pods...))
	r := inline()
	r.Content = append(r.Content, since.Content...)
	b.rules = append(b.rules, r)
	if len(c.probes) > 0 && g.percent(70) {
		b.window(r)
		b.fail(r, b.target())
	} else {
		put(r, "exit", number(pick(&g.rng, exitCodes)))
	}
	b.addRules(entry)
}

// exitWhile makes each instance of a container exit that runs within some time after a moment, or
// before a moment.
func (g *generator) exitWhile(p *pod, entry *yaml.Node) {
	b := &program{generator: g, pod: p, container: one(&g.rng, p.all()...)}
	r, since := inline(), g.since(one(&g.rng, g.pods...))
	if g.percent(50) {
		r.Content = append(r.Content, since.Content...)
		b.window(r)
	} else {
		put(r, "until", get(since, "since"))
		put(r, "after", text(b.draw(b.time(500*time.Millisecond, 20*time.Second))))
	}
	put(r, "exit", number(pick(&g.rng, exitCodes)))
	b.rules = append(b.rules, r)
	b.addRules(entry)
}

// addRules adds the rules and the named answers of a program to the entry of its pod, after the
// rules that are there.
func (b *program) addRules(pod *yaml.Node) {
	if !has(pod, "containers") {
		put(pod, "containers", list())
	}
	containers := get(pod, "containers")
	i := slices.IndexFunc(containers.Content,
		func(n *yaml.Node) bool { return get(n, "name").Value == b.container.name })
	if i < 0 {
		entry := object()
		put(entry, "name", text(b.container.name))
		containers.Content, i = append(containers.Content, entry), len(containers.Content)
	}
	entry := containers.Content[i]
	if len(b.container.answers.Content) > 0 && !has(entry, "answers") {
		put(entry, "answers", b.container.answers)
	}
	for _, r := range b.rules {
		addTo(entry, "behavior", r)
	}
}

// endAnyContainer returns a step that ends a container of any kind, half of the time with SIGTERM.
func (g *generator) endAnyContainer(p *pod) *yaml.Node {
	n, kill := g.when(p), inline()
	put(kill, "pod", text(p.name))
	put(kill, "container", text(one(&g.rng, p.all()...).name))
	if g.percent(50) {
		put(kill, "signal", text("SIGTERM"))
	}
	put(n, "kill", kill)
	return n
}

// patchInitImage returns a step that changes the image of an init container or a sidecar.
func (g *generator) patchInitImage(p *pod) *yaml.Node {
	n, value, patch, container := g.when(p), inline(), inline(), inline()
	put(container, "name", text(one(&g.rng, p.init...).name))
	put(container, "image", text(one(&g.rng, "app:2", "app:3")))
	addTo(patch, "initContainers", container)
	put(value, "pod", text(p.name))
	put(value, "spec", patch)
	put(n, "patch", value)
	return n
}

// addReplicas adds a workload with replicas that come one after the other, or a crowd of them that
// come at once. At one moment all of them fail or exit.
func (g *generator) addReplicas(spec *yaml.Node) {
	p := &pod{name: "crowd", grace: g.number(graces), at: g.odd(time.Millisecond, g.duration/4)}
	count, stagger := g.between(20, 60), "0s"
	if g.percent(50) {
		count, stagger = g.between(2, 5), g.draw(g.time(time.Millisecond, 10*time.Second))
	}
	g.options.WithoutRestartAll = true // the gates of the scenario are drawn
	g.fillPod(p, one(&g.rng, 1, 1, 1, 2))
	if count >= 20 {
		p.probeLessOften()
	}
	p.manifest = workloadOf(p)
	entry := g.podBehavior(p)
	put(entry, "replicas", number(count))
	put(entry, "stagger", text(stagger))
	for _, c := range p.containers {
		g.failTogether(p, c, entry)
	}
	if has(spec, "steps") {
		for _, step := range get(spec, "steps").Content {
			if deletion := get(step, "delete"); deletion != nil && !has(deletion, "pod") {
				put(deletion, "pod", text(g.pods[0].name)) // it was the only pod
			}
		}
	}
	pods := get(spec, "pods")
	pods.Content = append(pods.Content, entry)
	g.crowd = []*pod{p}
	if g.percent(30) {
		n, remove := inline(), inline()
		put(n, "at", text(g.draw(g.moment(p))))
		put(remove, "pod", text(p.name))
		put(n, "delete", remove)
		addTo(spec, "steps", n)
	}
}

// probeLessOften makes the periods of all probes at least 5 s, because the real kubelet takes some
// milliseconds of wall time for each probe.
func (p *pod) probeLessOften() {
	for _, c := range p.all() {
		for _, probe := range c.probes {
			n := get(c.spec, probe.key+"Probe")
			if has(n, "periodSeconds") && len(get(n, "periodSeconds").Value) == 1 &&
				get(n, "periodSeconds").Value < "5" {
				get(n, "periodSeconds").Value = "5"
			}
		}
	}
}

// failTogether makes a container of all replicas fail or exit. With at, or if they came at once,
// they do so at the same moment.
func (g *generator) failTogether(p *pod, c *container, entry *yaml.Node) {
	b := &program{generator: g, pod: p, container: c}
	r := inline()
	b.rules = append(b.rules, r)
	b.clock(r)
	if len(c.probes) > 0 && g.percent(60) {
		b.window(r)
		put(r, "probes", text(one(&g.rng, "fail", "fail", "down", "hang")))
	} else {
		put(r, "exit", number(pick(&g.rng, exitCodes)))
	}
	b.addRules(entry)
}

// workloadOf returns the workload whose template is the manifest of a pod: a Job if the pod does
// not always restart, otherwise a Deployment.
func workloadOf(p *pod) *yaml.Node {
	n, metadata, spec, template, podMetadata, labels := object(), inline(), object(), object(), inline(), inline()
	kind, apiVersion, podSpec := "Deployment", "apps/v1", get(p.manifest, "spec")
	if has(podSpec, "restartPolicy") && get(podSpec, "restartPolicy").Value != "Always" {
		kind, apiVersion = "Job", "batch/v1"
	}
	put(n, "apiVersion", text(apiVersion))
	put(n, "kind", text(kind))
	put(metadata, "name", text(p.name))
	put(n, "metadata", metadata)
	put(n, "spec", spec)
	put(labels, "app", text(p.name))
	put(podMetadata, "labels", labels)
	if of := get(p.manifest, "metadata"); has(of, "finalizers") {
		put(podMetadata, "finalizers", get(of, "finalizers"))
	}
	put(template, "metadata", podMetadata)
	put(template, "spec", podSpec)
	if kind == "Deployment" {
		selector := inline()
		put(selector, "matchLabels", labels)
		put(spec, "selector", selector)
		remove(podSpec, "activeDeadlineSeconds")
	}
	put(spec, "template", template)
	return n
}

// remove removes a field of a mapping.
func remove(n *yaml.Node, key string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
