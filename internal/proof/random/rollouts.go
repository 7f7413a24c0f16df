package random

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// deployment is a Deployment of a scenario with rollouts, and what the steps have done to it.
type deployment struct {
	*pod
	containers *yaml.Node // the programs in its pods
	deadline   bool       // it has its own progressDeadlineSeconds
	history    bool       // it has its own revisionHistoryLimit
	recreate   bool
	paused     bool
	templates  int // changes of its template since an undo, while it is not paused
}

// rolloutFile returns the documents of a scenario in which Deployments behind Services are rolled
// out. Its programs have less trouble than those of other scenarios, so that most rollouts get far.
// Its seed draws the latencies of the control plane, unless those are the standard ones.
func (g *generator) rolloutFile(seed uint64) []*yaml.Node {
	g.temper.bad, g.temper.crashes = one(&g.rng, 0, 0, 20, 60), one(&g.rng, 0, 0, 10, 30)
	g.duration = time.Duration(g.between(180, 480)) * time.Second
	var all []*deployment
	var documents []*yaml.Node
	pods, services, traffic := list(), list(), list()
	for _, name := range podNames[:pick(&g.rng, []weighted[int]{{75, 1}, {25, 2}})] {
		d := g.drawDeployment(name)
		all, documents = append(all, d), append(documents, d.manifest)
		entry := object()
		put(entry, "name", text(name))
		if len(d.containers.Content) > 0 {
			put(entry, "containers", d.containers)
		}
		pods.Content = append(pods.Content, entry)
		if g.percent(80) {
			g.putService(name, services, traffic)
		}
	}
	n, metadata, spec := object(), inline(), object()
	put(metadata, "name", text(fmt.Sprintf("random-%d", seed)))
	put(n, "apiVersion", text(format.APIVersion))
	put(n, "kind", text("Scenario"))
	put(n, "metadata", metadata)
	put(n, "spec", spec)
	put(spec, "duration", text(value.Format(g.duration)))
	put(spec, "controlPlane", g.controlPlane(spec, seed))
	if g.percent(20) {
		put(spec, "kubelet", g.smallNode(all))
	}
	put(spec, "pods", pods)
	if len(services.Content) > 0 {
		put(spec, "services", services)
	}
	if len(traffic.Content) > 0 {
		put(spec, "traffic", traffic)
	}
	put(spec, "steps", g.rolloutSteps(all))
	return append(documents, n)
}

// controlPlane returns the control plane. With ranges of latencies the scenario has one seed.
func (g *generator) controlPlane(spec *yaml.Node, seed uint64) *yaml.Node {
	n := inline()
	if g.percent(35) {
		return n
	}
	put(spec, "seeds", text(fmt.Sprintf("%d..%d", seed, seed)))
	put(n, "watch", literal("2500us..40ms"))
	put(n, "apiWrite", literal("1ms..30ms"))
	put(n, "schedule", literal("1ms..20ms"))
	put(n, "proxySync", literal("20ms..400ms"))
	return n
}

// smallNode returns a node with room for up to twelve pods, and gives the pods requests.
func (g *generator) smallNode(all []*deployment) *yaml.Node {
	for _, d := range all {
		resources, requests := inline(), inline()
		put(requests, "cpu", text("250m"))
		put(resources, "requests", requests)
		put(d.pod.containers[0].spec, "resources", resources)
	}
	size, kubelet := inline(), inline()
	put(size, "cpu", text(fmt.Sprintf("%dm", 250*g.between(2, 12)+one(&g.rng, 0, 100))))
	put(kubelet, "allocatable", size)
	return kubelet
}

// drawDeployment draws a Deployment and the programs in its pods.
func (g *generator) drawDeployment(name string) *deployment {
	d := &deployment{pod: &pod{name: name, grace: g.number(graces)}, containers: list()}
	for i := range pick(&g.rng, []weighted[int]{{85, 1}, {15, 2}}) {
		d.pod.containers = append(d.pod.containers, g.drawContainer(containerNames[i], regular))
	}
	g.putHooks(d.pod)
	n, metadata, spec := object(), inline(), object()
	put(n, "apiVersion", text("apps/v1"))
	put(n, "kind", text("Deployment"))
	put(metadata, "name", text(name))
	put(n, "metadata", metadata)
	put(n, "spec", spec)
	put(spec, "replicas", number(pick(&g.rng, []weighted[int]{{25, 1}, {15, 2}, {30, 3}, {15, 4}, {10, 6}, {5, 10}})))
	g.putStrategy(d, spec)
	labels, selector, template, podSpec := inline(), inline(), object(), object()
	put(labels, "app", text(name))
	put(selector, "matchLabels", labels)
	put(spec, "selector", selector)
	ofPod := inline()
	put(ofPod, "labels", labels)
	put(template, "metadata", ofPod)
	put(template, "spec", podSpec)
	put(podSpec, "terminationGracePeriodSeconds", number(d.grace))
	d.putContainers(podSpec)
	put(spec, "template", template)
	d.manifest = n
	d.containers = g.programs(d)
	return d
}

// programs draws the programs in the pods of a template.
func (g *generator) programs(d *deployment) *yaml.Node {
	n := list()
	for _, c := range d.pod.containers {
		c.answers = list()
		entry := g.containerBehavior(d.pod, c)
		g.putListener(entry)
		if len(entry.Content) > 2 {
			n.Content = append(n.Content, entry)
		}
	}
	return n
}

// putListener draws when the listener of a program is closed: while it starts, in outages, and
// after SIGTERM. An outage begins at one time for all pods, or some time after the start of each.
func (g *generator) putListener(container *yaml.Node) {
	var rules []*yaml.Node
	rule := func() *yaml.Node {
		rules = append(rules, inline())
		return rules[len(rules)-1]
	}
	if g.percent(35) {
		start := rule()
		put(start, "for", text(g.draw(g.time(500*time.Millisecond, 20*time.Second))))
		put(start, "probes", text("down"))
	}
	if g.percent(25) {
		outage := rule()
		put(outage, one(&g.rng, "at", "after"), text(g.draw(g.time(5*time.Second, g.duration/2))))
		put(outage, "for", text(g.draw(g.time(100*time.Millisecond, 15*time.Second))))
		if g.percent(20) {
			put(outage, "every", text(value.Format(time.Duration(g.between(31, 60))*time.Second)))
		}
		put(outage, "probes", text("down"))
	}
	if g.percent(40) {
		stop := rule()
		put(stop, "afterSigterm", text(value.Format(one(&g.rng, 0, g.time(10*time.Millisecond, 3*time.Second)))))
		put(stop, "refuse", literal("true"))
	}
	if behavior := get(container, "behavior"); behavior != nil {
		behavior.Content = append(behavior.Content, rules...)
	} else if len(rules) > 0 {
		put(container, "behavior", list(rules...))
	}
}

// putStrategy draws how a Deployment is rolled out.
func (g *generator) putStrategy(d *deployment, spec *yaml.Node) {
	strategy, rolling := inline(), inline()
	switch {
	case g.percent(15):
		d.recreate = true
		put(strategy, "type", text("Recreate"))
		put(spec, "strategy", strategy)
	case g.percent(50):
		surge, unavailable := g.amount(), g.amount()
		if surge.Value == "0" && unavailable.Value == "0" {
			unavailable = number(1)
		}
		put(rolling, "maxSurge", surge)
		put(rolling, "maxUnavailable", unavailable)
		put(strategy, "rollingUpdate", rolling)
		put(spec, "strategy", strategy)
	}
	ready := 0
	if g.percent(30) {
		ready = g.between(1, 15)
		put(spec, "minReadySeconds", number(ready))
	}
	if d.deadline = g.percent(25); d.deadline {
		put(spec, "progressDeadlineSeconds", number(ready+g.between(1, 120)))
	}
	if d.history = g.percent(20); d.history {
		put(spec, "revisionHistoryLimit", number(g.between(0, 2)))
	}
}

// amount returns a number or a share of pods.
func (g *generator) amount() *yaml.Node {
	if g.percent(30) {
		return text(fmt.Sprintf("%d%%", g.between(1, 100)))
	}
	return number(g.between(0, 3))
}

// putService adds a Service for a Deployment, most often with requests.
func (g *generator) putService(name string, services, traffic *yaml.Node) {
	s, requests := inline(), inline()
	put(s, "name", text(name))
	routers := list()
	routers.Style = yaml.FlowStyle
	for _, kind := range pick(&g.rng, []weighted[[]string]{{70, nil}, {15, []string{"kube-proxy", "ingress-nginx"}},
		{15, []string{"alb-ip"}}}) {
		router := inline()
		put(router, "name", text(name+"-"+kind))
		if kind == format.KubeProxy {
			router = inline()
		}
		put(router, "kind", text(kind))
		routers.Content = append(routers.Content, router)
	}
	if len(routers.Content) > 0 {
		put(s, "routers", routers)
	}
	services.Content = append(services.Content, s)
	if g.percent(60) {
		put(requests, "service", text(name))
		put(requests, "rps", number(g.between(1, 1000)))
		if g.percent(70) {
			put(requests, "latency", text(fmt.Sprintf("%dms..%dms", g.between(1, 20), g.between(20, 200))))
		}
		traffic.Content = append(traffic.Content, requests)
	}
}

// changes are what users do to a Deployment: each function adds an action to a step, and reports
// false if it cannot.
var changes = []weighted[func(*generator, *deployment, *yaml.Node) bool]{
	{40, (*generator).rollTemplate},
	{12, (*generator).restart},
	{20, (*generator).scale},
	{8, (*generator).undo},
	{8, (*generator).pauseOrResume},
	{4, (*generator).changeMinReady},
	{8, (*generator).deletePod},
}

// rolloutSteps returns up to five steps. Half of them begin while the one before is under way.
func (g *generator) rolloutSteps(all []*deployment) *yaml.Node {
	steps := list()
	at := g.time(5*time.Second, g.duration/2)
	for range g.between(1, 5) {
		n := inline()
		put(n, "at", text(value.Format(at)))
		if d := one(&g.rng, all...); pick(&g.rng, changes)(g, d, n) {
			steps.Content = append(steps.Content, n)
		}
		if at += g.time(500*time.Millisecond, one(&g.rng, 20*time.Second, g.duration/2)); at >= g.duration {
			break
		}
	}
	if len(steps.Content) == 0 {
		n := inline()
		put(n, "at", text(value.Format(at)))
		g.restart(all[0], n)
		steps.Content = append(steps.Content, n)
	}
	return steps
}

// change adds the action rollout to a step.
func change(d *deployment, step *yaml.Node, key string, what *yaml.Node) *yaml.Node {
	n := inline()
	put(n, "workload", text(d.name))
	put(n, key, what)
	put(step, "rollout", n)
	return n
}

// rollTemplate changes the image of the first container, and sometimes the programs.
func (g *generator) rollTemplate(d *deployment, step *yaml.Node) bool {
	if !d.paused {
		d.templates++
	}
	g.images++
	app, spec, template := inline(), inline(), inline()
	put(app, "name", text(d.pod.containers[0].name))
	put(app, "image", text(fmt.Sprintf("next:%d", g.images)))
	containers := list(app)
	containers.Style = yaml.FlowStyle
	put(spec, "containers", containers)
	put(template, "spec", spec)
	n := change(d, step, "template", template)
	if programs := g.programs(d); len(programs.Content) > 0 && g.percent(50) {
		step.Style, n.Style = 0, 0
		put(n, "containers", programs)
	}
	return true
}

func (g *generator) restart(d *deployment, step *yaml.Node) bool {
	if !d.paused {
		d.templates++
	}
	change(d, step, "restart", literal("true"))
	return true
}

func (g *generator) scale(d *deployment, step *yaml.Node) bool {
	n := inline()
	put(n, "workload", text(d.name))
	put(n, "replicas", number(g.between(0, 8)))
	put(step, "scale", n)
	return true
}

// undo goes back to the template before. Its ReplicaSet must exist: with Recreate that takes as
// long as the old pods.
func (g *generator) undo(d *deployment, step *yaml.Node) bool {
	if d.templates == 0 || d.paused || d.history || d.recreate {
		return false
	}
	d.templates = 0 // an undo soon after an undo may find no ReplicaSet
	change(d, step, "undo", number(0))
	return true
}

func (g *generator) pauseOrResume(d *deployment, step *yaml.Node) bool {
	verb := "pause"
	if d.paused {
		verb = "resume"
	}
	d.paused = !d.paused
	change(d, step, verb, literal("true"))
	return true
}

func (g *generator) changeMinReady(d *deployment, step *yaml.Node) bool {
	if d.deadline {
		return false
	}
	spec := inline()
	put(spec, "minReadySeconds", number(g.between(16, 1<<9)))
	change(d, step, "spec", spec)
	return true
}

// deletePod deletes one pod of the first ReplicaSet, or all pods.
func (g *generator) deletePod(d *deployment, step *yaml.Node) bool {
	n := inline()
	put(n, "pod", text(one(&g.rng, d.name+"-1-0", d.name+"-1-0", d.name)))
	put(step, "delete", n)
	return true
}
