package random

import "time"

// delay is a delay that scenarios can override, with its default.
type delay struct {
	name  string
	usual time.Duration
}

var nodeDelays = append([]delay{
	{"runPodSandbox", 211 * time.Millisecond}, {"stopPodSandbox", 41 * time.Millisecond},
	{"removePodSandbox", 17 * time.Millisecond}, {"listPodSandbox", 2300 * time.Microsecond},
	{"listContainers", 3100 * time.Microsecond}, {"podSandboxStatus", 1300 * time.Microsecond},
	{"apiGet", 5300 * time.Microsecond}, {"apiPatch", 7900 * time.Microsecond},
	{"apiDelete", 6100 * time.Microsecond}, {"imageStatus", 600 * time.Microsecond},
}, containerDelays...)

var containerDelays = []delay{
	{"createContainer", 31 * time.Millisecond}, {"startContainer", 57 * time.Millisecond},
	{"stopContainer", 7 * time.Millisecond}, {"removeContainer", 13 * time.Millisecond},
	{"containerStatus", 1700 * time.Microsecond}, {"exec", 20 * time.Millisecond},
	{"httpGet", 9 * time.Millisecond}, {"tcpSocket", 2 * time.Millisecond}, {"grpc", 11 * time.Millisecond},
}

// imagePull has a typical value instead of its default, which is 0.
var imagePull = delay{"imagePull", 900 * time.Millisecond}

// delays overrides up to four delays, with a probability of 20%, and often the time of an image
// pull if pulls is true.
func (g *generator) delays(delays []delay, pulls bool) tree {
	overridden := inline()
	if g.percent(20) {
		for range g.between(1, 4) {
			g.override(overridden, one(&g.rng, delays...))
		}
	}
	if pulls && g.percent(60) {
		g.override(overridden, imagePull)
	}
	return filled(overridden)
}

// override draws a delay that the mapping does not have yet.
func (g *generator) override(delays tree, d delay) {
	if !has(delays, d.name) {
		put(delays, d.name, g.draw(g.latency(d.usual)))
	}
}

// latency returns a latency around the usual one: from a third of it to three times as long,
// sometimes up to twenty times. It is never 0, and two latencies are rarely equal.
func (g *generator) latency(usual time.Duration) time.Duration {
	if g.percent(g.temper.odd) {
		return g.odd(3*usual, 20*usual)
	}
	return g.odd(usual/3, 3*usual)
}
