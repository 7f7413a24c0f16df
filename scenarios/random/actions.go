package random

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// troubles are how many steps a scenario has beside its deletions.
var troubles = []weighted[span]{{50, span{0, 0}}, {30, span{1, 1}}, {20, span{2, 4}}}

// action is what a step does.
type action struct {
	name  string
	value func(*generator, *pod) *yaml.Node
}

// actions are what is done to the node and its pods, other than deletions.
var actions = []weighted[action]{
	{30, action{"kill", (*generator).kill}},
	{15, action{"setDelays", (*generator).setDelays}},
}

// when returns a step without its action.
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

// setDelays makes some calls slower for a while, or faster.
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
