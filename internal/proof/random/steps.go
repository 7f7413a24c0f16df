package random

import (
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
)

// deletions are the ways to delete a pod.
var deletions = []weighted[func(*generator, *pod) []*yaml.Node]{
	{35, (*generator).deleteOnce},
	{20, (*generator).deleteSoon},
	{12, (*generator).deleteByForce},
	{18, (*generator).deleteTwice},
	{15, (*generator).deleteSince},
}

// steps returns the steps of the scenario: deletions and other actions.
func (g *generator) steps() *yaml.Node {
	steps := list()
	for _, p := range g.pods {
		if g.percent(g.temper.deletions) {
			steps.Content = append(steps.Content, pick(&g.rng, deletions)(g, p)...)
		}
	}
	for range g.number(troubles) {
		p := one(&g.rng, g.pods...)
		trouble := pick(&g.rng, actions)
		if trouble.name == "shutdownNode" && !g.listens {
			trouble.name = "rebootNode"
		}
		n := g.when(p)
		put(n, trouble.name, trouble.value(g, p))
		steps.Content = append(steps.Content, n)
	}
	for _, p := range g.pods {
		if p.gated {
			steps.Content = append(steps.Content, g.moveGate(p)...)
		}
		if p.kept && g.percent(75) {
			steps.Content = append(steps.Content, g.letGo(p))
		}
	}
	if g.options.StepClock {
		steps.Content = append(steps.Content, g.stepClock()...)
	}
	return steps
}

// putFinalizer adds a finalizer to some pods.
func (g *generator) putFinalizer(p *pod, metadata *yaml.Node) {
	if aside := (rng{g.state ^ 2}); aside.percent(6) {
		put(metadata, "finalizers", texts("example.com/keep"))
		p.kept = true
	}
}

// letGo returns a step that removes the finalizer.
func (g *generator) letGo(p *pod) *yaml.Node {
	n, patch, metadata := g.when(p), inline(), inline()
	put(patch, "pod", text(p.name))
	put(metadata, "finalizers", literal("null"))
	put(patch, "metadata", metadata)
	put(n, "patch", patch)
	return n
}

// asPod means the grace period of the pod itself.
const asPod = -1

// remove returns the value of a delete step.
func (g *generator) remove(p *pod, grace int) *yaml.Node {
	n := inline()
	if len(g.pods) > 1 || g.percent(30) {
		put(n, "pod", text(p.name))
	}
	if grace != asPod {
		put(n, "gracePeriodSeconds", number(grace))
	}
	return n
}

func (g *generator) removeAt(p *pod, at time.Duration, grace int) *yaml.Node {
	n := inline()
	put(n, "at", text(g.draw(at)))
	put(n, "delete", g.remove(p, grace))
	return n
}

// moment returns a time after the start of the pod and before the end of the run, for any values of
// the draws.
func (g *generator) moment(p *pod) time.Duration {
	from := p.at + p.at*spread/100
	return from + g.time(100*time.Millisecond, (g.duration-from)*3/4)
}

func (g *generator) deleteOnce(p *pod) []*yaml.Node {
	return []*yaml.Node{g.removeAt(p, g.moment(p), asPod)}
}

func (g *generator) deleteSoon(p *pod) []*yaml.Node {
	return []*yaml.Node{g.removeAt(p, g.moment(p), g.between(1, 10))}
}

func (g *generator) deleteByForce(p *pod) []*yaml.Node {
	return []*yaml.Node{g.removeAt(p, g.moment(p), 0)}
}

// deleteTwice deletes the pod a second time during the first deletion, usually with a shorter grace
// period.
func (g *generator) deleteTwice(p *pod) []*yaml.Node {
	at := g.moment(p)
	first := g.removeAt(p, at, one(&g.rng, asPod, g.between(5, 60)))
	again := at + g.time(time.Millisecond, min(30*time.Second, (g.duration-at)*3/4))
	return []*yaml.Node{first, g.removeAt(p, again, one(&g.rng, 0, 1, 2, g.between(1, 10), 90))}
}

// moments are the moments that steps can wait for. Not all of them occur in every run.
var moments = []weighted[func(*container) *yaml.Node]{
	{20, record("ContainerStarted", "")},
	{20, record("ContainerStopping", "")},
	{10, record("ContainerExited", "")},
	{10, failedProbe},
	{20, becomes("", "ready", "true")},
	{10, becomes("", "ready", "false")},
	{10, becomes("of container", "started", "true")},
}

func record(kind, result string) func(*container) *yaml.Node {
	return func(c *container) *yaml.Node {
		n, fields := inline(), inline()
		put(n, "container", text(c.name))
		put(fields, "kind", text(kind))
		if result != "" {
			put(fields, "result", text(result))
		}
		put(n, "record", fields)
		return n
	}
}

// failedProbe returns the moment of a failed probe, or of an exit if the container has no probe.
func failedProbe(c *container) *yaml.Node {
	if len(c.probes) == 0 {
		return record("ContainerExited", "")(c)
	}
	return record("ProbeExecuted", "failure")(c)
}

func becomes(who, field, state string) func(*container) *yaml.Node {
	return func(c *container) *yaml.Node {
		n, fields := inline(), inline()
		if who != "" {
			put(n, "container", text(c.name))
		}
		put(fields, field, literal(state))
		put(n, "becomes", fields)
		return n
	}
}

// deleteSince deletes the pod some time after a moment.
func (g *generator) deleteSince(p *pod) []*yaml.Node {
	n := g.since(p)
	put(n, "delete", g.remove(p, one(&g.rng, asPod, asPod, g.between(0, 40))))
	return []*yaml.Node{n}
}

// since returns a step some time after a moment, without its action.
func (g *generator) since(p *pod) *yaml.Node {
	n := inline()
	since := pick(&g.rng, moments)(one(&g.rng, p.all()...))
	put(since, "pod", text(p.name))
	put(n, "since", since)
	if g.percent(80) {
		put(n, "after", text(value.Format(g.time(time.Millisecond, min(time.Minute, g.duration)))))
	}
	return n
}
