package random

import "time"

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
