package random

import (
	"slices"
	"time"
)

// uptimes are the ages of the kubelet at t=0: the default; so young that probe workers first wait
// for a part of their period; older than all periods.
var uptimes = []weighted[[2]time.Duration]{
	{80, [2]time.Duration{}},
	{12, [2]time.Duration{1100 * time.Millisecond, 9 * time.Second}},
	{3, [2]time.Duration{9 * time.Second, 100 * time.Second}},
	{5, [2]time.Duration{3700 * time.Second, 4500 * time.Second}},
}

// shortUptimes are the ages of the kubelet in short scenarios. Older kubelets take longer to
// simulate.
var shortUptimes = []weighted[[2]time.Duration]{
	{70, [2]time.Duration{1100 * time.Millisecond, 5 * time.Second}},
	{28, [2]time.Duration{5 * time.Second, 30 * time.Second}},
	{2, [2]time.Duration{30 * time.Second, 200 * time.Second}},
}

// kubelet returns the field kubelet of a scenario, which can be empty.
func (g *generator) kubelet() tree {
	kubelet, ages := inline(), uptimes
	if g.options.Short {
		ages = shortUptimes
	}
	if between := pick(&g.rng, ages); between[1] > 0 {
		put(kubelet, "uptime", g.draw(g.odd(between[0], between[1])))
	}
	return put(kubelet, "config", filled(g.config()))
}

// config returns the settings of the kubelet.
func (g *generator) config() tree {
	n := inline("syncFrequency", g.maybe(3, func() any { return g.time(time.Second, 5*time.Minute) }))
	if g.percent(3) {
		put(n, "crashLoopBackOff", inline("maxContainerRestartPeriod", g.time(time.Second, time.Minute)))
	}
	if g.percent(20) {
		g.putShutdown(n)
	}
	g.putFeatureGates(n)
	return n
}

// gateSettings returns the settings of feature gates that the scenario allows: a gate must stay on
// if the scenario uses its feature.
func (g *generator) gateSettings(config tree) [][]any {
	settings := [][]any{
		{"ChangeContainerStatusOnKubeletRestart", true},
		{"ReduceDefaultCrashLoopBackOffDecay", true},
		{"GRPCContainerProbeTLS", true},
		{"ContainerRestartRules", false, "RestartAllContainersOnContainerExits", false},
	}
	if !g.anyContainer(func(c *container) bool { return c.restartsAll }) {
		settings = append(settings, []any{"RestartAllContainersOnContainerExits", false})
	}
	if !has(config, "crashLoopBackOff") {
		settings = append(settings, []any{"KubeletCrashLoopBackOffMax", false},
			[]any{"KubeletCrashLoopBackOffMax", false, "ReduceDefaultCrashLoopBackOffDecay", true})
	}
	return settings
}

// putFeatureGates changes some feature gates, and usually turns on those for HTTP/2 and stop
// signals if the scenario uses them.
func (g *generator) putFeatureGates(config tree) {
	gates, aside := inline(), g.aside()
	if aside.percent(10) {
		put(gates, one(&aside.rng, g.gateSettings(config)...)...)
	}
	if g.anyContainer(func(c *container) bool { return c.http2 }) && aside.percent(75) {
		put(gates, "H2CContainerProbe", true)
	}
	if slices.ContainsFunc(g.pods, func(p *pod) bool { return p.signals }) && aside.percent(80) {
		put(gates, "ContainerStopSignals", true)
	}
	put(config, "featureGates", filled(gates))
}

// putShutdown sets the shutdown grace periods of the kubelet.
func (g *generator) putShutdown(config tree) {
	g.listens = true
	if g.percent(50) {
		grace := g.between(1, 60)
		put(config, "shutdownGracePeriod", time.Duration(grace)*time.Second)
		put(config, "shutdownGracePeriodCriticalPods", g.maybe(70, func() any {
			return time.Duration(g.between(1, grace)) * time.Second
		}))
		return
	}
	for _, priority := range []int{priorities[2], priorities[0], priorities[1]} {
		period := inline("priority", priority, "shutdownGracePeriodSeconds", g.between(0, 30))
		add(config, "shutdownGracePeriodByPodPriority", period)
	}
}

// priorities are the priorities of pods. The last one makes a pod critical.
var priorities = []int{-10, 1000, 2_000_000_000}

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
