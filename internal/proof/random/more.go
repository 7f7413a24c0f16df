package random

import (
	"slices"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
)

// addMore adds more features to some scenarios: long runs, replicas that fail or exit at the same
// moment, rules with since and endpoints, pods on the network of the node and with several volumes,
// slow returns of StopContainer, and steps about all kinds of containers. The features have their
// own stream of numbers, and spec is the spec of the scenario.
func (g *generator) addMore(spec tree) {
	more := *g
	more.state ^= 0x1f83d9ab
	entries := get(spec, "pods").Content
	for i, p := range more.pods {
		put(p.spec, "hostNetwork", more.maybe(6, true))
		if more.percent(8) {
			more.putVolumes(p)
		}
		if more.percent(8) {
			more.answerAtEndpoint(p, entries[i])
		}
		if more.percent(8) {
			more.failSince(p, entries[i])
		}
		if more.percent(10) {
			add(spec, "steps", more.endAnyContainer(p))
		}
		if len(p.init) > 0 && more.percent(15) {
			add(spec, "steps", more.patchInitImage(p))
		}
	}
	if more.percent(8) {
		more.override(field(spec, "delays"), delay{"stopReturn", 80 * time.Millisecond})
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
			more.exitWhile(p, entries[i])
		}
	}
	for i, p := range more.pods {
		if more.percent(12) {
			more.answerForAnother(p, entries[i])
		}
	}
	for more.percent(5) {
		add(spec, "steps", more.failCall(one(&more.rng, more.pods...)))
	}
}

// failCall returns a step that makes calls to the runtime or the API server fail.
func (g *generator) failCall(p *pod) tree {
	n, call := g.when(p), one(&g.rng, fakeruntime.Calls()...)
	of := g.maybe(60, p.name)
	if fakeruntime.CallNamed(call) == fakeruntime.Status {
		of = nil
	}
	return put(n, "failCall", inline("call", call, "pod", of, "count", g.maybe(40, g.between(2, 5)),
		"effect", g.maybe(50, "done")))
}

// putVolumes gives a pod up to three more volumes, each of which some of its containers mount.
func (g *generator) putVolumes(p *pod) {
	for _, name := range []string{"cache", "data", "logs"}[:g.between(1, 3)] {
		add(p.spec, "volumes", inline("name", name, "emptyDir", inline()))
		for _, c := range p.all() {
			if g.percent(50) {
				add(c.spec, "volumeMounts", inline("name", name, "mountPath", "/"+name))
			}
		}
	}
}

// answerAtEndpoint makes an endpoint of a container fail for some time.
func (g *generator) answerAtEndpoint(p *pod, entry tree) {
	c := one(&g.rng, p.all()...)
	if len(c.probes) == 0 {
		return
	}
	asking := one(&g.rng, c.probes...)
	b := &program{generator: g, pod: p, container: c}
	r := b.rule()
	b.clock(r)
	b.window(r)
	put(r, "endpoints", inline(asking.endpoint(), answer(b.bad(asking.key, true))))
	b.addRules(entry)
}

// answerForAnother makes a container answer the plain HTTP probes at an endpoint of another one, as
// a mesh agent does. Its own probes are plain HTTP too, because its rules hold for all.
func (g *generator) answerForAnother(p *pod, entry tree) {
	for _, c := range p.containers {
		agents := slices.DeleteFunc(p.all(), func(other *container) bool {
			return other == c || slices.ContainsFunc(other.probes,
				func(q *probe) bool { return q.handler != "httpGet" }) ||
				slices.Contains(p.init, other) && textOf(other.spec, "restartPolicy") != "Always"
		})
		for _, asking := range c.probes {
			if len(agents) > 0 && strings.HasPrefix(asking.endpoint(), "http:") {
				b := &program{generator: g, pod: p, container: c}
				b.add("endpoints", inline(asking.endpoint(), inline("answeredBy", one(&g.rng, agents...).name)))
				b.addRules(entry)
				return
			}
		}
	}
}

// endpoint returns the endpoint of a probe in the notation of rules.
func (p *probe) endpoint() string {
	port := textOf(p.action, "port")
	switch p.handler {
	case "exec":
		var words []string
		for _, word := range get(p.action, "command").Content {
			words = append(words, word.Value)
		}
		return "exec:" + strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	case "httpGet":
		scheme := "http"
		if has(p.action, "scheme") {
			scheme = "https"
		}
		return scheme + ":" + port + "/" + strings.TrimPrefix(textOf(p.action, "path"), "/")
	case "grpc":
		return strings.TrimSuffix("grpc:"+port+"/"+textOf(p.action, "service"), "/")
	}
	return "tcp:" + port
}

// failSince makes the probes of a container fail some time after a moment, or makes it exit.
func (g *generator) failSince(p *pod, entry tree) {
	b := &program{generator: g, pod: p, container: one(&g.rng, p.all()...)}
	r := g.since(one(&g.rng, g.pods...))
	b.rules = []tree{r}
	if len(b.container.probes) > 0 && g.percent(70) {
		b.window(r)
		b.fail(r)
	} else {
		put(r, "exit", pick(&g.rng, exitCodes))
	}
	b.addRules(entry)
}

// exitWhile makes each instance of a container exit that runs within some time after a moment, or
// before a moment.
func (g *generator) exitWhile(p *pod, entry tree) {
	b := &program{generator: g, pod: p, container: one(&g.rng, p.all()...)}
	r := g.since(one(&g.rng, g.pods...))
	if g.percent(50) {
		b.window(r)
	} else {
		r = inline("until", get(r, "since"), "after", b.draw(b.time(500*time.Millisecond, 20*time.Second)))
	}
	b.rules = []tree{put(r, "exit", pick(&g.rng, exitCodes))}
	b.addRules(entry)
}

// addRules adds the rules and the named answers of a program to the entry of its pod, after the
// rules that are there.
func (b *program) addRules(pod tree) {
	var entry tree
	if containers := get(pod, "containers"); containers != nil {
		entry = itemNamed(containers.Content, b.container.name)
	}
	if entry == nil {
		entry = block("name", b.container.name)
		add(pod, "containers", entry)
	}
	if answers := get(entry, "answers"); answers != nil {
		answers.Content = b.container.answers
	} else {
		put(entry, "answers", b.container.answers)
	}
	add(entry, "behavior", b.rules...)
}

// endAnyContainer returns a step that ends a container of any kind, half of the time with SIGTERM.
func (g *generator) endAnyContainer(p *pod) tree {
	n, name := g.when(p), one(&g.rng, p.all()...).name
	return put(n, "kill", inline("pod", p.name, "container", name, "signal", g.maybe(50, "SIGTERM")))
}

// patchInitImage returns a step that changes the image of an init container or a sidecar.
func (g *generator) patchInitImage(p *pod) tree {
	n, spec := g.when(p), inline()
	add(spec, "initContainers", inline("name", one(&g.rng, p.init...).name, "image", one(&g.rng, "app:2", "app:3")))
	return put(n, "patch", inline("pod", p.name, "spec", spec))
}

// addReplicas adds a workload with replicas that come one after the other, or a crowd of them that
// come at once. At one moment all of them fail or exit.
func (g *generator) addReplicas(spec tree) {
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
	entry := put(g.podBehavior(p), "replicas", count, "stagger", stagger)
	for _, c := range p.containers {
		g.failTogether(p, c, entry)
	}
	if steps := get(spec, "steps"); steps != nil {
		for _, step := range steps.Content {
			if deletion := get(step, "delete"); deletion != nil && !has(deletion, "pod") {
				put(deletion, "pod", g.pods[0].name) // it was the only pod
			}
		}
	}
	add(spec, "pods", entry)
	g.crowd = []*pod{p}
	if g.percent(30) {
		add(spec, "steps", inline("at", g.draw(g.moment(p)), "delete", inline("pod", p.name)))
	}
}

// probeLessOften makes the periods of all probes at least 5 s, because the real kubelet takes some
// milliseconds of wall time for each probe.
func (p *pod) probeLessOften() {
	for _, c := range p.all() {
		for _, probe := range c.probes {
			period := get(get(c.spec, probe.key+"Probe"), "periodSeconds")
			if period != nil && len(period.Value) == 1 && period.Value < "5" {
				period.Value = "5"
			}
		}
	}
}

// failTogether makes a container of all replicas fail or exit. With at, or if they came at once,
// they do so at the same moment.
func (g *generator) failTogether(p *pod, c *container, entry tree) {
	b := &program{generator: g, pod: p, container: c}
	r := b.add()
	b.clock(r)
	if len(c.probes) > 0 && g.percent(60) {
		b.window(r)
		put(r, "probes", one(&g.rng, "fail", "fail", "down", "hang"))
	} else {
		put(r, "exit", pick(&g.rng, exitCodes))
	}
	b.addRules(entry)
}

// workloadOf returns the workload whose template is the manifest of a pod: a Job if the pod does
// not always restart, otherwise a Deployment.
func workloadOf(p *pod) tree {
	labels := inline("app", p.name)
	metadata := inline("labels", labels, "finalizers", get(get(p.manifest, "metadata"), "finalizers"))
	template := block("metadata", metadata, "spec", p.spec)
	if policy := textOf(p.spec, "restartPolicy"); policy != "" && policy != "Always" {
		return object("batch/v1", "Job", p.name, block("template", template))
	}
	remove(p.spec, "activeDeadlineSeconds")
	return object("apps/v1", "Deployment", p.name,
		block("selector", inline("matchLabels", labels), "template", template))
}

// remove removes a field of a mapping.
func remove(n tree, key string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
