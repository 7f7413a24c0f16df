package random

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// troubles are the numbers of steps in addition to deletions.
var troubles = []weighted[span]{{50, span{0, 0}}, {30, span{1, 1}}, {20, span{2, 4}}}

// action is the action of a step.
type action struct {
	name  string
	value func(*generator, *pod) *yaml.Node
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
func (g *generator) shutdownNode(*pod) *yaml.Node { return inline() }

// when returns a step with a time, without its action.
func (g *generator) when(p *pod) *yaml.Node {
	if g.percent(30) {
		return g.since(p)
	}
	n := inline()
	put(n, "at", text(g.draw(g.moment(p))))
	return n
}

func (g *generator) kill(p *pod) *yaml.Node {
	n := inline()
	put(n, "pod", text(p.name))
	put(n, "container", text(one(&g.rng, p.containers...).name))
	if g.percent(20) {
		put(n, "reason", text("Error"))
	}
	if g.percent(20) {
		put(n, "remove", literal("true"))
	}
	return n
}

// setDelays makes some calls slower or faster for some time.
func (g *generator) setDelays(*pod) *yaml.Node {
	n, delays := inline(), inline()
	if g.percent(90) {
		put(n, "for", text(g.draw(g.time(time.Millisecond, g.duration/2))))
	}
	for range g.between(1, 3) {
		if d := one(&g.rng, nodeDelays...); !has(delays, d.name) {
			put(delays, d.name, text(g.draw(g.latency(d.usual))))
		}
	}
	put(n, "delays", delays)
	return n
}

// patch changes the labels of a pod, or the image of one of its containers.
func (g *generator) patch(p *pod) *yaml.Node {
	n := inline()
	put(n, "pod", text(p.name))
	if g.percent(30) {
		metadata, labels := inline(), inline()
		put(labels, "release", text(one(&g.rng, "canary", "stable")))
		put(metadata, one(&g.rng, "labels", "annotations"), labels)
		put(n, "metadata", metadata)
	}
	if !has(n, "metadata") || g.percent(20) {
		spec, container := inline(), inline()
		put(container, "name", text(one(&g.rng, p.containers...).name))
		put(container, "image", text(one(&g.rng, "app:1", "app:2", "app:3")))
		put(spec, "containers", &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle,
			Content: []*yaml.Node{container}})
		put(n, "spec", spec)
	}
	return n
}

func (g *generator) evict(p *pod) *yaml.Node {
	n := inline()
	put(n, "pod", text(p.name))
	return n
}

// outage returns an outage, usually with a duration.
func (g *generator) outage(*pod) *yaml.Node {
	n := inline()
	if g.percent(90) {
		put(n, "for", text(g.draw(g.time(time.Millisecond, g.duration/2))))
	}
	return n
}

func (g *generator) runtimeOutage(p *pod) *yaml.Node {
	n := g.outage(p)
	if g.percent(40) {
		put(n, "condition", text(one(&g.rng, "RuntimeReady", "NetworkReady")))
	}
	return n
}

// downtime returns the downtime of the kubelet or the node.
func (g *generator) downtime(*pod) *yaml.Node {
	n := inline()
	if g.percent(70) {
		put(n, "downtime", text(g.draw(g.time(time.Millisecond, time.Minute))))
	}
	return n
}
