package random

import (
	"fmt"
	"time"

	"probesim.dev/scenarios/format"
)

// deployment is a Deployment of a scenario with rollouts, and what the steps have done to it.
type deployment struct {
	*pod
	programs  []tree // the programs in its pods
	deadline  bool   // it has its own progressDeadlineSeconds
	history   bool   // it has its own revisionHistoryLimit
	recreate  bool
	paused    bool
	templates int // changes of its template since an undo, while it is not paused
}

// rolloutFile returns the documents of a scenario in which Deployments behind Services are rolled
// out. Its programs have less trouble than those of other scenarios, so that most rollouts get far.
// Its seed draws the latencies of the control plane, unless those are the standard ones.
func (g *generator) rolloutFile(seed uint64) []tree {
	g.temper.bad, g.temper.crashes = one(&g.rng, 0, 0, 20, 60), one(&g.rng, 0, 0, 10, 30)
	g.duration = time.Duration(g.between(180, 480)) * time.Second
	var all []*deployment
	var documents, pods, services, traffic []tree
	for _, name := range podNames[:pick(&g.rng, []weighted[int]{{75, 1}, {25, 2}})] {
		d := g.drawDeployment(name)
		all, documents = append(all, d), append(documents, d.manifest)
		pods = append(pods, block("name", name, "containers", d.programs))
		if g.percent(80) {
			services = append(services, g.service(name))
			if g.percent(60) {
				traffic = append(traffic, g.traffic(name))
			}
		}
	}
	spec := block("duration", g.duration)
	put(spec, "controlPlane", g.controlPlane(spec, seed))
	if g.percent(20) {
		put(spec, "kubelet", g.smallNode(all))
	}
	put(spec, "pods", pods, "services", services, "traffic", traffic, "steps", g.rolloutSteps(all))
	return append(documents, scenarioOf(seed, spec))
}

// controlPlane returns the control plane. With ranges of latencies the scenario has one seed.
func (g *generator) controlPlane(spec tree, seed uint64) tree {
	if g.percent(35) {
		return inline()
	}
	put(spec, "seeds", fmt.Sprintf("%d..%d", seed, seed))
	return inline("watch", "2500us..40ms", "apiWrite", "1ms..30ms", "schedule", "1ms..20ms", "proxySync", "20ms..400ms")
}

// smallNode returns a node with room for up to twelve pods, and gives the pods requests.
func (g *generator) smallNode(all []*deployment) tree {
	for _, d := range all {
		put(d.containers[0].spec, "resources", inline("requests", inline("cpu", "250m")))
	}
	return inline("allocatable", inline("cpu", fmt.Sprintf("%dm", 250*g.between(2, 12)+one(&g.rng, 0, 100))))
}

// drawDeployment draws a Deployment and the programs in its pods.
func (g *generator) drawDeployment(name string) *deployment {
	d := &deployment{pod: &pod{name: name, grace: g.number(graces)}}
	for i := range pick(&g.rng, []weighted[int]{{85, 1}, {15, 2}}) {
		d.containers = append(d.containers, g.drawContainer(containerNames[i], regular))
	}
	g.putHooks(d.pod)
	spec := block("replicas", pick(&g.rng, []weighted[int]{{25, 1}, {15, 2}, {30, 3}, {15, 4}, {10, 6}, {5, 10}}))
	g.putStrategy(d, spec)
	labels := inline("app", name)
	podSpec := block("terminationGracePeriodSeconds", d.grace, "containers", specs(d.containers))
	put(spec, "selector", inline("matchLabels", labels))
	put(spec, "template", block("metadata", inline("labels", labels), "spec", podSpec))
	d.manifest, d.programs = object("apps/v1", "Deployment", name, spec), g.programs(d)
	return d
}

// programs draws the programs in the pods of a template.
func (g *generator) programs(d *deployment) []tree {
	var programs []tree
	for _, c := range d.containers {
		c.answers = nil
		entry := g.containerBehavior(d.pod, c)
		if rules := g.listener(); len(rules) > 0 {
			add(entry, "behavior", rules...)
		}
		if len(entry.Content) > 2 {
			programs = append(programs, entry)
		}
	}
	return programs
}

// listener draws when the listener of a program is closed: while it starts, in outages, and after
// SIGTERM. An outage begins at one time for all pods, or some time after the start of each.
func (g *generator) listener() []tree {
	var rules []tree
	if g.percent(35) {
		rules = append(rules, inline("for", g.draw(g.time(500*time.Millisecond, 20*time.Second)), "probes", "down"))
	}
	if g.percent(25) {
		rules = append(rules, inline(
			one(&g.rng, "at", "after"), g.draw(g.time(5*time.Second, g.duration/2)),
			"for", g.draw(g.time(100*time.Millisecond, 15*time.Second)),
			"every", g.maybe(20, func() any { return time.Duration(g.between(31, 60)) * time.Second }),
			"probes", "down"))
	}
	if g.percent(40) {
		stop := one(&g.rng, 0, g.time(10*time.Millisecond, 3*time.Second))
		rules = append(rules, inline("afterSigterm", stop, "refuse", true))
	}
	return rules
}

// putStrategy draws how a Deployment is rolled out.
func (g *generator) putStrategy(d *deployment, spec tree) {
	switch {
	case g.percent(15):
		d.recreate = true
		put(spec, "strategy", inline("type", "Recreate"))
	case g.percent(50):
		surge, unavailable := g.amount(), g.amount()
		if surge == 0 && unavailable == 0 {
			unavailable = 1
		}
		put(spec, "strategy", inline("rollingUpdate", inline("maxSurge", surge, "maxUnavailable", unavailable)))
	}
	ready := 0
	if g.percent(30) {
		ready = g.between(1, 15)
		put(spec, "minReadySeconds", ready)
	}
	put(spec, "progressDeadlineSeconds", g.maybe(25, func() any { return ready + g.between(1, 120) }))
	put(spec, "revisionHistoryLimit", g.maybe(20, func() any { return g.between(0, 2) }))
	d.deadline, d.history = has(spec, "progressDeadlineSeconds"), has(spec, "revisionHistoryLimit")
}

// amount returns a number or a share of pods.
func (g *generator) amount() any {
	if g.percent(30) {
		return fmt.Sprintf("%d%%", g.between(1, 100))
	}
	return g.between(0, 3)
}

// service returns a Service for a Deployment.
func (g *generator) service(name string) tree {
	routers := items()
	for _, kind := range pick(&g.rng, []weighted[[]string]{{70, nil}, {15, []string{"kube-proxy", "ingress-nginx"}},
		{15, []string{"alb-ip"}}}) {
		router := inline("kind", kind)
		if kind != format.KubeProxy {
			router = inline("name", name+"-"+kind, "kind", kind)
		}
		routers.Content = append(routers.Content, router)
	}
	return inline("name", name, "routers", filled(routers))
}

// traffic returns requests to a Service.
func (g *generator) traffic(name string) tree {
	return inline("service", name, "rps", g.between(1, 1000), "latency", g.maybe(70, func() any {
		return fmt.Sprintf("%dms..%dms", g.between(1, 20), g.between(20, 200))
	}))
}

// changes are what users do to a Deployment: each function returns a step without its time, or nil
// if it cannot.
var changes = []weighted[func(*generator, *deployment) tree]{
	{40, (*generator).rollTemplate},
	{12, (*generator).restart},
	{20, (*generator).scale},
	{8, (*generator).undo},
	{8, (*generator).pauseOrResume},
	{4, (*generator).changeMinReady},
	{8, (*generator).deletePod},
}

// rolloutSteps returns up to five steps. Half of them begin while the one before is under way.
func (g *generator) rolloutSteps(all []*deployment) []tree {
	var steps []tree
	at := g.time(5*time.Second, g.duration/2)
	for range g.between(1, 5) {
		d := one(&g.rng, all...)
		if n := pick(&g.rng, changes)(g, d); n != nil {
			steps = append(steps, startingAt(at, n))
		}
		if at += g.time(500*time.Millisecond, one(&g.rng, 20*time.Second, g.duration/2)); at >= g.duration {
			break
		}
	}
	if len(steps) == 0 {
		steps = append(steps, startingAt(at, g.restart(all[0])))
	}
	return steps
}

// startingAt returns a step with its time as the first field.
func startingAt(at time.Duration, step tree) tree {
	step.Content = append(inline("at", at).Content, step.Content...)
	return step
}

// rollout returns a step with the action rollout.
func rollout(d *deployment, key string, what any) tree {
	return inline("rollout", inline("workload", d.name, key, what))
}

// rollTemplate changes the image of the first container, and sometimes the programs.
func (g *generator) rollTemplate(d *deployment) tree {
	if !d.paused {
		d.templates++
	}
	g.images++
	app := inline("name", d.containers[0].name, "image", fmt.Sprintf("next:%d", g.images))
	step := rollout(d, "template", inline("spec", inline("containers", items(app))))
	if programs := g.programs(d); len(programs) > 0 && g.percent(50) {
		n := get(step, "rollout")
		step.Style, n.Style = 0, 0
		put(n, "containers", programs)
	}
	return step
}

func (g *generator) restart(d *deployment) tree {
	if !d.paused {
		d.templates++
	}
	return rollout(d, "restart", true)
}

func (g *generator) scale(d *deployment) tree {
	return inline("scale", inline("workload", d.name, "replicas", g.between(0, 8)))
}

// undo goes back to the template before. Its ReplicaSet must exist: with Recreate that takes as
// long as the old pods.
func (g *generator) undo(d *deployment) tree {
	if d.templates == 0 || d.paused || d.history || d.recreate {
		return nil
	}
	d.templates = 0 // an undo soon after an undo may find no ReplicaSet
	return rollout(d, "undo", 0)
}

func (g *generator) pauseOrResume(d *deployment) tree {
	verb := map[bool]string{true: "resume", false: "pause"}[d.paused]
	d.paused = !d.paused
	return rollout(d, verb, true)
}

func (g *generator) changeMinReady(d *deployment) tree {
	if d.deadline {
		return nil
	}
	return rollout(d, "spec", inline("minReadySeconds", g.between(16, 1<<9)))
}

// deletePod deletes one pod of the first ReplicaSet, or all pods.
func (g *generator) deletePod(d *deployment) tree {
	return inline("delete", inline("pod", one(&g.rng, d.name+"-1-0", d.name+"-1-0", d.name)))
}
