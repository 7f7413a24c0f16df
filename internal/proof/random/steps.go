package random

import (
	"time"

	"probesim.dev/internal/value"
)

// deletions are the ways to delete a pod.
var deletions = []weighted[func(*generator, *pod) []tree]{
	{35, func(g *generator, p *pod) []tree { return []tree{g.removeAt(p, g.moment(p), nil)} }},
	{20, func(g *generator, p *pod) []tree { return []tree{g.removeAt(p, g.moment(p), g.between(1, 10))} }},
	{12, func(g *generator, p *pod) []tree { return []tree{g.removeAt(p, g.moment(p), 0)} }},
	{18, (*generator).deleteTwice},
	{15, (*generator).deleteSince},
}

// steps returns the steps of the scenario: deletions and other actions.
func (g *generator) steps() []tree {
	var steps []tree
	for _, p := range g.pods {
		if g.percent(g.temper.deletions) {
			steps = append(steps, pick(&g.rng, deletions)(g, p)...)
		}
	}
	for range g.number(troubles) {
		p := one(&g.rng, g.pods...)
		trouble := pick(&g.rng, actions)
		if trouble.name == "shutdownNode" && !g.listens {
			trouble.name = "rebootNode"
		}
		steps = append(steps, put(g.when(p), trouble.name, trouble.value(g, p)))
	}
	for _, p := range g.pods {
		if p.gated {
			steps = append(steps, g.moveGate(p)...)
		}
		if p.kept && g.percent(75) { // without the finalizer, the pod can go
			patch := inline("pod", p.name, "metadata", inline("finalizers", literal("null")))
			steps = append(steps, put(g.when(p), "patch", patch))
		}
	}
	if g.options.StepClock {
		steps = append(steps, g.stepClock()...)
	}
	return steps
}

// remove returns the value of a delete step. A grace of nil means the grace period of the pod
// itself.
func (g *generator) remove(p *pod, grace any) tree {
	n := inline()
	if len(g.pods) > 1 || g.percent(30) {
		put(n, "pod", p.name)
	}
	return put(n, "gracePeriodSeconds", grace)
}

func (g *generator) removeAt(p *pod, at time.Duration, grace any) tree {
	return inline("at", g.draw(at), "delete", g.remove(p, grace))
}

// moment returns a time after the start of the pod and before the end of the run, for any values of
// the draws.
func (g *generator) moment(p *pod) time.Duration {
	from := p.at + p.at*spread/100
	return from + g.time(100*time.Millisecond, (g.duration-from)*3/4)
}

// deleteTwice deletes the pod a second time during the first deletion, usually with a shorter grace
// period.
func (g *generator) deleteTwice(p *pod) []tree {
	at := g.moment(p)
	first := g.removeAt(p, at, one[any](&g.rng, nil, g.between(5, 60)))
	again := at + g.time(time.Millisecond, min(30*time.Second, (g.duration-at)*3/4))
	return []tree{first, g.removeAt(p, again, one(&g.rng, 0, 1, 2, g.between(1, 10), 90))}
}

// moments are the moments that steps can wait for. Not all of them occur in every run.
var moments = []weighted[func(*container) tree]{
	{20, record("ContainerStarted", nil)},
	{20, record("ContainerStopping", nil)},
	{10, record("ContainerExited", nil)},
	{10, failedProbe},
	{20, func(*container) tree { return inline("becomes", inline("ready", true)) }},
	{10, func(*container) tree { return inline("becomes", inline("ready", false)) }},
	{10, func(c *container) tree { return inline("container", c.name, "becomes", inline("started", true)) }},
}

func record(kind string, result any) func(*container) tree {
	return func(c *container) tree {
		return inline("container", c.name, "record", inline("kind", kind, "result", result))
	}
}

// failedProbe returns the moment of a failed probe, or of an exit if the container has no probe.
func failedProbe(c *container) tree {
	if len(c.probes) == 0 {
		return record("ContainerExited", nil)(c)
	}
	return record("ProbeExecuted", "failure")(c)
}

// deleteSince deletes the pod some time after a moment.
func (g *generator) deleteSince(p *pod) []tree {
	n := g.since(p)
	return []tree{put(n, "delete", g.remove(p, one[any](&g.rng, nil, nil, g.between(0, 40))))}
}

// since returns a step some time after a moment, without its action.
func (g *generator) since(p *pod) tree {
	since := pick(&g.rng, moments)(one(&g.rng, p.all()...))
	n := inline("since", put(since, "pod", p.name))
	return put(n, "after", g.maybe(80, func() any { return g.time(time.Millisecond, min(time.Minute, g.duration)) }))
}

// troubles are the numbers of steps in addition to deletions.
var troubles = []weighted[span]{{50, span{0, 0}}, {30, span{1, 1}}, {20, span{2, 4}}}

// action is the action of a step.
type action struct {
	name  string
	value func(*generator, *pod) tree
}

// actions are the actions on the node and its pods, except deletions.
var actions = []weighted[action]{
	{30, action{"kill", (*generator).kill}},
	{15, action{"setDelays", (*generator).setDelays}},
	{15, action{"patch", (*generator).patch}},
	{15, action{"evict", (*generator).evict}},
	{6, action{"restartKubelet", (*generator).downtime}},
	{4, action{"rebootNode", (*generator).downtime}},
	{4, action{"shutdownNode", (*generator).shutdownNode}},
	{6, action{"apiDown", (*generator).outage}},
	{6, action{"runtimeDown", (*generator).runtimeOutage}},
}

// shutdownNode needs a kubelet with a shutdown grace period. Other scenarios reboot the node
// instead.
func (g *generator) shutdownNode(*pod) tree { return inline() }

// when returns a step with a time, without its action.
func (g *generator) when(p *pod) tree {
	if g.percent(30) {
		return g.since(p)
	}
	return inline("at", g.draw(g.moment(p)))
}

func (g *generator) kill(p *pod) tree {
	return inline("pod", p.name, "container", one(&g.rng, p.containers...).name,
		"reason", g.maybe(20, "Error"), "remove", g.maybe(20, true))
}

// setDelays makes some calls slower or faster for some time.
func (g *generator) setDelays(p *pod) tree {
	n, delays := g.outage(p), inline()
	for range g.between(1, 3) {
		g.override(delays, one(&g.rng, nodeDelays...))
	}
	return put(n, "delays", delays)
}

// patch changes the labels of a pod, or the image of one of its containers.
func (g *generator) patch(p *pod) tree {
	n := inline("pod", p.name)
	if g.percent(30) {
		labels := inline("release", one(&g.rng, "canary", "stable"))
		put(n, "metadata", inline(one(&g.rng, "labels", "annotations"), labels))
	}
	if !has(n, "metadata") || g.percent(20) {
		container := inline("name", one(&g.rng, p.containers...).name, "image", one(&g.rng, "app:1", "app:2", "app:3"))
		put(n, "spec", inline("containers", items(container)))
	}
	return n
}

func (g *generator) evict(p *pod) tree { return inline("pod", p.name) }

// outage returns an outage, usually with a duration.
func (g *generator) outage(*pod) tree {
	return inline("for", g.maybe(90, func() any { return g.draw(g.time(time.Millisecond, g.duration/2)) }))
}

func (g *generator) runtimeOutage(p *pod) tree {
	return put(g.outage(p), "condition", g.maybe(40, func() any { return one(&g.rng, "RuntimeReady", "NetworkReady") }))
}

// downtime returns the downtime of the kubelet or the node.
func (g *generator) downtime(*pod) tree {
	return inline("downtime", g.maybe(70, func() any { return g.draw(g.time(time.Millisecond, time.Minute)) }))
}

// clockSteps are the ranges of the steps of the wall clock, from the small corrections of a daemon
// to a clock that was wrong at the boot.
var clockSteps = []weighted[[2]time.Duration]{
	{20, [2]time.Duration{time.Millisecond, 2 * time.Second}},
	{50, [2]time.Duration{time.Second, 2 * time.Minute}},
	{20, [2]time.Duration{time.Minute, time.Hour}},
	{10, [2]time.Duration{time.Hour, value.MaxDuration}},
}

// stepClock returns some steps of the wall clock, more often back than forward. They use a separate
// stream of numbers.
func (g *generator) stepClock() []tree {
	aside := g.aside()
	var steps []tree
	for range aside.between(1, 3) {
		n, size := aside.when(one(&aside.rng, g.pods...)), pick(&aside.rng, clockSteps)
		by := value.Format(aside.time(size[0], size[1]))
		if aside.percent(60) {
			by = "-" + by
		}
		steps = append(steps, put(n, "stepClock", inline("by", by)))
	}
	return steps
}
