package random

import "time"

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
